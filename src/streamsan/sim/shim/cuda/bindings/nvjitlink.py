"""`cuda.bindings.nvjitlink` is not simulated."""

raise ImportError(
    "streamsan sim simulates cuda.bindings (driver, runtime, nvrtc); cuda.bindings.nvjitlink is not simulated"
)
