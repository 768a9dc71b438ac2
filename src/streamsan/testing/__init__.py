"""A simulated device in tests: the pytest plugin."""
