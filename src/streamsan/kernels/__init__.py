"""What kernels do: which memory they touch, how, from where on, and what they wait for."""
