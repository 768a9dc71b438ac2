"""What kernels in SPIR-V do with their parameters. A module is untrusted: whatever its words say, reading them ends."""
