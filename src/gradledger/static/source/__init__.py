"""Files and their text: found, decoded, cut out of notebooks, parsed; comments that ignore."""
