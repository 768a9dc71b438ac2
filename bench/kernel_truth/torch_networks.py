"""What trains networks: layers with their gradients, losses, attention, recurrent nets, and PyTorch's optimisers."""

# ruff: noqa: SIM905  (names are easier to read as words)

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import torch
from operations import Operation, run_all
from torch import nn
from torch.nn import functional
from torch_memory import DEVICE, keep_allocations

TYPES = (torch.float32, torch.float16, torch.bfloat16, torch.float64)


def trained(module: Callable[..., Any], *inputs: torch.Tensor) -> None:
    """Run something forward and backward."""
    given = [each.clone().requires_grad_() if each.is_floating_point() else each for each in inputs]
    out = module(*given)
    out = out[0] if isinstance(out, tuple) else out
    (out.float() if out.dtype in (torch.float16, torch.bfloat16) else out).sum().backward()


def layers(dtype: torch.dtype) -> Iterator[Operation]:
    """Layers and losses, each forward and backward."""
    place: dict[str, Any] = {"device": DEVICE, "dtype": dtype}
    image, volume = torch.rand(4, 8, 20, 20, **place), torch.rand(2, 4, 6, 8, 8, **place)
    line, rows = torch.rand(4, 8, 50, **place), torch.rand(32, 64, **place)
    makers: dict[str, tuple[Callable[[], Callable[..., Any]], torch.Tensor]] = {
        "conv1d": (lambda: nn.Conv1d(8, 6, 3, **place), line),
        "conv2d": (lambda: nn.Conv2d(8, 6, 3, padding=1, **place), image),
        "conv2d 1x1": (lambda: nn.Conv2d(8, 16, 1, **place), image),
        "conv2d strided": (lambda: nn.Conv2d(8, 16, 5, stride=2, **place), image),
        "conv2d depthwise": (lambda: nn.Conv2d(8, 8, 3, groups=8, **place), image),
        "conv2d groups": (lambda: nn.Conv2d(8, 8, 3, groups=2, **place), image),
        "conv2d dilated": (lambda: nn.Conv2d(8, 8, 3, dilation=2, **place), image),
        "conv3d": (lambda: nn.Conv3d(4, 3, 3, **place), volume),
        "conv transposed": (lambda: nn.ConvTranspose2d(8, 6, 3, **place), image),
        "batch norm": (lambda: nn.BatchNorm2d(8, **place), image),
        "batch norm evaluated": (lambda: nn.BatchNorm2d(8, **place).eval(), image),
        "instance norm": (lambda: nn.InstanceNorm2d(8, affine=True, **place), image),
        "group norm": (lambda: nn.GroupNorm(2, 8, **place), image),
        "layer norm": (lambda: nn.LayerNorm(64, **place), rows),
        "rms norm": (lambda: nn.RMSNorm(64, **place), rows),
        "local response": (lambda: nn.LocalResponseNorm(2), image),
        "max pool": (lambda: nn.MaxPool2d(2), image),
        "max pool 1d": (lambda: nn.MaxPool1d(2), line),
        "max pool 3d": (lambda: nn.MaxPool3d(2), volume),
        "average pool": (lambda: nn.AvgPool2d(3), image),
        "average pool 3d": (lambda: nn.AvgPool3d(2), volume),
        "adaptive pool": (lambda: nn.AdaptiveAvgPool2d(3), image),
        "adaptive max": (lambda: nn.AdaptiveMaxPool2d(3), image),
        "fractional pool": (lambda: nn.FractionalMaxPool2d(2, output_size=8), image),
        "lp pool": (lambda: nn.LPPool2d(2, 2), image),
        "upsample": (lambda: nn.Upsample(scale_factor=2, mode="bilinear"), image),
        "upsample nearest": (lambda: nn.Upsample(scale_factor=2), image),
        "linear": (lambda: nn.Linear(64, 32, **place), rows),
        "bilinear": (lambda: nn.Bilinear(64, 64, 5, **place).forward, rows),
        "dropout": (lambda: nn.Dropout(0.3), rows),
        "dropout 2d": (lambda: nn.Dropout2d(0.3), image),
        "alpha dropout": (lambda: nn.AlphaDropout(0.3), rows),
        "softmax": (lambda: nn.Softmax(1), rows),
        "softmax wide": (lambda: nn.Softmax(1), torch.rand(4, 3000, **place)),
        "log softmax": (lambda: nn.LogSoftmax(0), rows),
        "pad": (lambda: nn.ReflectionPad2d(2), image),
        "replicate": (lambda: nn.ReplicationPad2d(2), image),
        "cosine": (lambda: lambda x: functional.cosine_similarity(x, x.flip(0)), rows),
        "pairs": (lambda: lambda x: functional.pdist(x), rows),
        "normalize": (lambda: lambda x: functional.normalize(x), rows),
    }
    for name, (maker, given) in makers.items():
        inputs = (given, given.flip(0)) if name == "bilinear" else (given,)
        yield f"{name} {dtype}", lambda maker=maker, inputs=inputs: trained(maker(), *inputs)
    wanted, other = torch.rand(32, 64, **place), torch.arange(32, device=DEVICE)
    for name in """mse_loss l1_loss smooth_l1_loss huber_loss kl_div binary_cross_entropy soft_margin_loss
        binary_cross_entropy_with_logits poisson_nll_loss multilabel_soft_margin_loss""".split():
        loss = getattr(functional, name)
        yield f"{name} {dtype}", lambda loss=loss: trained(lambda x: loss(x, wanted), rows)
    for name in ("cross_entropy", "nll_loss", "multi_margin_loss"):
        loss = getattr(functional, name)
        yield f"{name} {dtype}", lambda loss=loss: trained(lambda x: loss(x, other), rows)
    yield (
        f"nll 2d {dtype}",
        lambda: trained(
            lambda x: functional.nll_loss(x, torch.ones(4, 20, 20, device=DEVICE, dtype=torch.int64)), image
        ),
    )
    yield (
        f"ctc {dtype}",
        lambda: trained(
            lambda x: functional.ctc_loss(
                x.log_softmax(2),
                torch.ones(4, 5, device=DEVICE, dtype=torch.int64),
                torch.full((4,), 30),
                torch.full((4,), 5),
            ),
            torch.rand(30, 4, 9, **place),
        ),
    )
    yield f"margin {dtype}", lambda: trained(lambda x: functional.triplet_margin_loss(x, wanted, wanted.flip(0)), rows)


def sequences(dtype: torch.dtype) -> Iterator[Operation]:
    """Embeddings, attention, recurrent nets."""
    place: dict[str, Any] = {"device": DEVICE, "dtype": dtype}
    words = torch.tensor([[1, 5, 5, 2], [0, 3, 9, 9]], device=DEVICE)
    rows = torch.rand(10, 16, **place)
    yield f"embedding {dtype}", lambda: trained(lambda table: functional.embedding(words, table), rows)
    for mode in ("sum", "mean", "max"):
        yield (
            f"bags {mode} {dtype}",
            lambda mode=mode: trained(lambda table: functional.embedding_bag(words, table, mode=mode), rows),
        )
    heads = torch.rand(2, 4, 64, 32, **place)
    backends = torch.nn.attention.SDPBackend
    for backend in (backends.FLASH_ATTENTION, backends.EFFICIENT_ATTENTION, backends.MATH, backends.CUDNN_ATTENTION):
        for causal in (False, True):
            yield (
                f"attention {backend} {dtype} {causal}",
                lambda backend=backend, causal=causal: _attention(backend, heads, causal),
            )
    steps = torch.rand(5, 3, 16, **place)
    for kind in (nn.RNN, nn.LSTM, nn.GRU):
        yield f"{kind.__name__} {dtype}", lambda kind=kind: trained(kind(16, 24, **place), steps)
    for cell in (nn.LSTMCell, nn.GRUCell):
        yield f"{cell.__name__} {dtype}", lambda cell=cell: trained(cell(16, 24, **place), steps[0])
    layer = {"d_model": 16, "nhead": 2, "dim_feedforward": 32, **place}
    yield f"transformer {dtype}", lambda: trained(nn.TransformerEncoderLayer(**layer), steps)
    yield f"transformer evaluated {dtype}", lambda: nn.TransformerEncoderLayer(**layer, batch_first=True).eval()(steps)


def _attention(backend: Any, heads: torch.Tensor, causal: bool) -> None:
    with torch.nn.attention.sdpa_kernel(backend):
        trained(
            lambda a, b, c: functional.scaled_dot_product_attention(a, b, c, is_causal=causal),
            heads, heads.flip(0), heads.flip(1),
        )  # fmt: skip


def optimisers(dtype: torch.dtype) -> Iterator[Operation]:
    """One step of each optimiser, in each of its forms, with some options."""
    kinds: dict[str, dict[str, Any]] = {
        "SGD": {"momentum": 0.9, "lr": 0.1},
        "Adam": {"amsgrad": True},
        "AdamW": {},
        "RMSprop": {"momentum": 0.5, "centered": True},
        "Adagrad": {},
        "Adadelta": {},
        "Adamax": {},
        "NAdam": {},
        "RAdam": {},
        "Rprop": {},
        "ASGD": {},
    }
    for name, options in kinds.items():
        for form in ({"foreach": False}, {"foreach": True}, {"fused": True}):
            yield f"{name} {form} {dtype}", lambda name=name, o=options, form=form: _step(name, {**o, **form}, dtype)
    tensors = [torch.rand(50 + at, device=DEVICE).to(dtype) for at in range(5)]
    for name in "add mul div sqrt exp abs neg sigmoid lerp maximum pow addcmul norm zero_ round sign".split():
        function = getattr(torch, f"_foreach_{name}")
        extra = {"lerp": (tensors, 0.3), "maximum": (tensors,), "addcmul": (tensors, tensors)}
        given = extra.get(name, (2,) if name in ("add", "mul", "div", "pow") else ())
        yield f"foreach {name} {dtype}", lambda function=function, given=given: function(tensors, *given)
        if name in ("add", "mul", "div"):
            yield f"foreach {name} lists {dtype}", lambda function=function: function(tensors, tensors)
    yield f"clip {dtype}", lambda: _clipped(dtype)
    yield (
        f"scaler {dtype}",
        lambda: torch._amp_foreach_non_finite_check_and_unscale_(
            tensors, torch.zeros(1, device=DEVICE), torch.ones(1, device=DEVICE)
        ),
    )


def _step(name: str, options: dict[str, Any], dtype: torch.dtype) -> None:
    parameters = [torch.rand(30 + at, 7, device=DEVICE).to(dtype).requires_grad_() for at in range(4)]
    for each in parameters:
        each.grad = torch.rand_like(each)
    optimiser = getattr(torch.optim, name)(parameters, **options)
    optimiser.step()
    optimiser.step()


def _clipped(dtype: torch.dtype) -> None:
    parameter = torch.rand(30, 7, device=DEVICE).to(dtype).requires_grad_()
    parameter.grad = torch.rand_like(parameter)
    nn.utils.clip_grad_norm_([parameter], 0.1)


if __name__ == "__main__":
    keep_allocations()
    part = {"layers": layers, "sequences": sequences, "optimisers": optimisers}[sys.argv[1]]
    run_all((operation for dtype in TYPES for operation in part(dtype)), torch.cuda.synchronize)
