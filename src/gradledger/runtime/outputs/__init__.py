"""What leaves an audit besides findings: measurements of steps, recordings, values for trackers."""
