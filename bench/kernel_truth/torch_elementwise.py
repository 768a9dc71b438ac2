"""Element-wise kernels of PyTorch: each operation for several types, dense, strided and with a broadcast operand."""

# ruff: noqa: SIM905  (names are easier to read as words)

from __future__ import annotations

import sys
from collections.abc import Iterator

import torch
from operations import Operation, run_all
from torch.nn import functional
from torch_memory import DEVICE, keep_allocations, spread

PARTS = {
    "float": (torch.float32,),
    "half": (torch.float16, torch.bfloat16),
    "double": (torch.float64, torch.complex64),
    "integer": (torch.int32, torch.int64, torch.uint8, torch.bool),
}
UNARY = """abs exp exp2 log log2 log10 log1p expm1 sin cos tan tanh sinh cosh asin acos atan asinh acosh atanh sigmoid
    sqrt rsqrt floor ceil round trunc frac neg erf erfc erfinv lgamma digamma reciprocal sign signbit isnan isinf
    square logical_not bitwise_not i0 sinc angle positive isfinite nan_to_num special_i0e special_i1 special_ndtri
    special_bessel_j0 special_entr conj_physical""".split()
BINARY = """add sub mul div pow atan2 fmod remainder maximum minimum fmax fmin lt le gt ge eq ne hypot copysign
    logaddexp logaddexp2 floor_divide bitwise_and bitwise_or bitwise_xor logical_and logical_or logical_xor gcd lcm
    heaviside nextafter xlogy special_zeta bitwise_left_shift bitwise_right_shift float_power true_divide""".split()
ACTIVATIONS = """relu relu6 gelu silu elu selu celu leaky_relu softplus softsign hardtanh mish logsigmoid hardswish
    hardsigmoid tanhshrink softshrink hardshrink""".split()


def operations(types: tuple[torch.dtype, ...]) -> Iterator[Operation]:
    """What to run, by name."""
    for dtype in types:
        size = 120
        x = (torch.linspace(0.1, 0.9, size * size, device=DEVICE) * (1 if dtype.is_floating_point else 9)).to(dtype)
        x = x.reshape(size, size)
        y = x.flip(0).contiguous()
        wide, row = spread(x), x[0]
        for name in UNARY:
            yield f"{name} {dtype}", lambda name=name, x=x: getattr(torch, name)(x)
            yield f"{name} {dtype} strided", lambda name=name, wide=wide: getattr(torch, name)(wide)
        for name in BINARY:
            yield f"{name} {dtype}", lambda name=name, x=x, y=y: getattr(torch, name)(x, y)
            yield f"{name} {dtype} row", lambda name=name, x=x, row=row: getattr(torch, name)(x, row)
            yield f"{name} {dtype} scalar", lambda name=name, x=x: getattr(torch, name)(x, 2)
        for name in ACTIVATIONS:
            yield f"{name} {dtype}", lambda name=name, x=x: getattr(functional, name)(x)
            yield f"{name} {dtype} backward", lambda name=name, x=x: _backward(name, x)
        yield from _others(dtype, x, y)


def _backward(name: str, x: torch.Tensor) -> None:
    given = x.clone().requires_grad_()
    getattr(functional, name)(given).sum().backward()


def _others(dtype: torch.dtype, x: torch.Tensor, y: torch.Tensor) -> Iterator[Operation]:
    yield f"where {dtype}", lambda: torch.where(x > y, x, y)
    yield f"lerp {dtype}", lambda: torch.lerp(x, y, 0.3)
    yield f"lerp tensor {dtype}", lambda: torch.lerp(x, y, x)
    yield f"addcmul {dtype}", lambda: torch.addcmul(x, x, y, value=2)
    yield f"addcdiv {dtype}", lambda: torch.addcdiv(x, x, y, value=2)
    yield f"clamp {dtype}", lambda: x.clamp(0, 1)
    yield f"clamp tensors {dtype}", lambda: torch.clamp(x, y, x)
    yield f"fill {dtype}", lambda: torch.empty_like(x).fill_(3)
    yield f"in place {dtype}", lambda: x.clone().mul_(2).add_(y)
    yield f"polygamma {dtype}", lambda: torch.polygamma(2, x)
    yield f"isclose {dtype}", lambda: torch.isclose(x, y)
    yield f"glu {dtype}", lambda: functional.glu(x)
    yield f"prelu {dtype}", lambda: functional.prelu(x, torch.full((1,), 0.2, device=DEVICE, dtype=dtype))
    yield f"threshold {dtype}", lambda: functional.threshold(x, 0.3, 0.0)
    for other in (torch.float32, torch.float16, torch.float64, torch.int32, torch.int8, torch.bool, torch.bfloat16):
        yield f"{dtype} to {other}", lambda other=other: x.to(other)
        yield f"{dtype} strided to {other}", lambda other=other: spread(x).to(other)


if __name__ == "__main__":
    keep_allocations()
    run_all(operations(PARTS[sys.argv[1]]), torch.cuda.synchronize)
