"""PyTorch: checkpoints, activations offloaded on a stream, memory given up before its stream waits. Prints results."""

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class Offload(torch.autograd.graph.saved_tensors_hooks):
    """Keeps large saved tensors in pinned memory; both ways are copies on a stream of their own."""

    def __init__(self) -> None:
        self.stream = torch.cuda.Stream()
        super().__init__(self.pack, self.unpack)

    def pack(self, tensor: torch.Tensor) -> object:
        """Begin to copy a tensor to the host."""
        if isinstance(tensor, nn.Parameter) or tensor.numel() < 1 << 12:
            return tensor
        host = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True)
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            host.copy_(tensor, non_blocking=True)
        tensor.record_stream(self.stream)
        return host, tensor.device

    def unpack(self, kept: object) -> torch.Tensor:
        """Copy it back."""
        if isinstance(kept, torch.Tensor):
            return kept
        host, device = kept
        with torch.cuda.stream(self.stream):
            tensor = host.to(device, non_blocking=True)
        torch.cuda.current_stream().wait_stream(self.stream)
        tensor.record_stream(torch.cuda.current_stream())
        return tensor


def gathered(shards: list[torch.Tensor]) -> float:
    """Use each full parameter, drop it, and let the gathering stream wait afterwards."""
    gather = torch.cuda.Stream()
    total = torch.zeros((), device="cuda")
    for shard in shards:
        gather.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(gather):
            full = torch.cat([shard] * 4)
        torch.cuda.current_stream().wait_stream(gather)
        total += full.sum()
        del full
    return total.item()


def main() -> None:
    """Train with checkpoints, offload activations, gather parameters."""
    torch.manual_seed(0)
    model = nn.Sequential(*(nn.Sequential(nn.Linear(256, 256), nn.GELU()) for _ in range(6))).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x = torch.randn(128, 256).cuda()
    losses = []
    for step in range(6):
        y = x
        if step % 2:
            for layer in model:
                y = checkpoint(layer, y, use_reentrant=False)
            loss = y.square().mean()
        else:
            with Offload():
                loss = model(y).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    print("trained", losses[-1] < losses[0])
    print("gathered", gathered([torch.full((1 << 16,), float(k), device="cuda") for k in range(4)]))


main()
