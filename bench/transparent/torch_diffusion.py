"""PyTorch: a denoising loop whose parts are loaded ahead on a stream, images in pinned memory. Prints results."""

import torch
from torch import nn


class Part(nn.Module):
    """A part of the model, whose weights are on the host until it is needed."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.eye(width) * 0.5, requires_grad=False)
        self.host = self.weight.data.pin_memory()

    def load(self, transfers: torch.cuda.Stream) -> None:
        """Copy the weights to the device, on the stream of transfers."""
        compute = torch.cuda.current_stream()
        with torch.cuda.stream(transfers):
            self.weight.data = self.host.to("cuda", non_blocking=True)
            self.weight.data.record_stream(compute)

    def drop(self) -> None:
        """Give the device's memory up."""
        self.weight.data = self.host

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the part's output."""
        return torch.nn.functional.silu(x @ self.weight) + x


class Denoiser:
    """Runs the parts one after the other, and loads each while the one before runs."""

    def __init__(self, parts: int, width: int) -> None:
        self.parts = [Part(width) for _ in range(parts)]
        self.transfers = torch.cuda.Stream()

    def __call__(self, x: torch.Tensor, step: int) -> torch.Tensor:
        """Return the noise in `x`."""
        self.parts[0].load(self.transfers)
        for part, following in zip(self.parts, [*self.parts[1:], None], strict=True):
            torch.cuda.current_stream().wait_stream(self.transfers)
            if following is not None:
                following.load(self.transfers)
            x = part(x) / (1.0 + 0.01 * step)
            part.drop()
        return x


@torch.inference_mode()
def main() -> None:
    """Denoise some images, two at a time with and without guidance."""
    torch.manual_seed(0)
    width, steps = 256, 12
    denoiser = Denoiser(6, width)
    latents = torch.ones(2, 64, width, device="cuda")
    previews = [torch.empty(latents.shape, pin_memory=True) for _ in range(2)]
    arrived = [torch.cuda.Event() for _ in previews]
    means = []
    for step in range(steps):
        both = torch.cat([latents, latents * 0.5])
        guided, plain = denoiser(both, step).chunk(2)
        latents = latents - 0.01 * (plain + 3.0 * (guided - plain))
        slot = step % 2
        if step >= 2:
            arrived[slot].synchronize()
            means.append(round(previews[slot].mean().item(), 3))
        previews[slot].copy_(latents, non_blocking=True)
        arrived[slot].record()
    torch.cuda.synchronize()
    print("denoised", len(means), bool(torch.isfinite(latents).all()), means == sorted(means, reverse=True))


main()
