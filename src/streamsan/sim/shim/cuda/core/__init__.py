"""`cuda.core` calls the driver from compiled code, which no simulated device can stand behind."""

raise ImportError("streamsan sim simulates cuda.bindings (driver, runtime, nvrtc); cuda.core is not simulated")
