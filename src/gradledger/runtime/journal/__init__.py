"""What all watchers share: the journal that events are written to, cells, patches, failures."""
