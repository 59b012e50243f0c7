"""What happens to gradients between backward and step: clears, clips, scalers, manual edits."""
