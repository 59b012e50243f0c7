"""Comments by which people say that a finding is meant."""
