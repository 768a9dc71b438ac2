"""The source reader: CUDA C and C++ host code, interpreted over the device model with symbolic values."""
