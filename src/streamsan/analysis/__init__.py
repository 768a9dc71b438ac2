"""From an input to its findings."""
