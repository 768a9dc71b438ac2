"""`cuda.bindings.nvml` is not simulated."""

raise ImportError("streamsan sim simulates cuda.bindings (driver, runtime, nvrtc); cuda.bindings.nvml is not simulated")
