"""What simulated processes share through IPC handles: bytes, the lives of what was exported, the order of events."""
