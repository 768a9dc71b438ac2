"""Kernels that torch.compile makes: forward and backward of small functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from operations import Operation, run_all
from torch.nn import functional
from torch_memory import DEVICE, keep_allocations

FUNCTIONS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "gelu and softmax": lambda x: (functional.gelu(x) * x.sum(1, keepdim=True)).softmax(0),
    "layer norm": lambda x: functional.layer_norm(x, (64,)).relu(),
    "variance": lambda x: (x - x.mean()) / (x.var() + 1e-5),
    "turned": lambda x: (x.t() @ x).tanh() + x.t().sum(1),
    "gather": lambda x: x[torch.tensor([1, 5, 5, 2], device=DEVICE)].cumsum(0),
    "scatter": lambda x: torch.zeros_like(x).index_add(0, torch.tensor([1, 5, 5], device=DEVICE), x[:3]),
    "sorted": lambda x: torch.sort(x, 1).values.cos(),
    "largest": lambda x: x.max(1).values + x.argmin(1),
    "joined": lambda x: torch.cat([x.sin(), x[:, :5].exp()], 1),
    "dropped": lambda x: functional.dropout(x, 0.3) + torch.rand_like(x),
    "pooled": lambda x: functional.max_pool2d(x[None, None], 2) + functional.avg_pool2d(x[None, None], 2),
    "attention": lambda x: functional.scaled_dot_product_attention(*[x.reshape(1, 4, 16, 64)] * 3),
    "chosen": lambda x: torch.where(x > 0.5, x.log(), x.exp()).amax(),
}


def operations() -> Iterator[Operation]:
    """Compile and run each, for some types, forward and backward."""
    for dtype in (torch.float32, torch.float16):
        for name, function in FUNCTIONS.items():
            yield f"{name} {dtype}", lambda function=function, dtype=dtype: _trained(function, dtype)


def _trained(function: Callable[[torch.Tensor], torch.Tensor], dtype: torch.dtype) -> None:
    given = torch.rand(64, 64, device=DEVICE).to(dtype).requires_grad_()
    torch.compile(function)(given).float().sum().backward()


if __name__ == "__main__":
    keep_allocations()
    run_all(operations(), torch.cuda.synchronize)
