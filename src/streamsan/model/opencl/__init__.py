"""OpenCL's transitions: objects with reference counts, commands in queues, events, maps. A handler for each effect."""
