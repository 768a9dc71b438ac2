"""The trace: operations as 64-byte slots, in memory and in .sst files."""
