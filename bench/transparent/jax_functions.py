"""JAX: compiled functions, gradients, random numbers. Prints results."""

import os

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp


@jax.jit
def layer(weights, inputs):
    """Run one layer."""
    return jnp.tanh(inputs @ weights)


key = jax.random.PRNGKey(0)
weights = jax.random.normal(key, (64, 64))
inputs = jnp.ones((8, 64))
print(f"{float(layer(weights, inputs).sum()):.3f}")
gradient = jax.grad(lambda w: layer(w, inputs).sum())(weights)
print(f"{float(gradient.sum()):.3f}", gradient.devices().pop().platform)
print(f"{float(jnp.linalg.norm(jnp.fft.fft(inputs[0]))):.3f}")
