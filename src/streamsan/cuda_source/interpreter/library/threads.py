"""Models to come."""
