"""Bytes, schedules and recycling: what really happens on the simulated device."""
