"""PyTorch: a loader with pinned memory, copies on a stream of their own, results read on the host. Prints results."""

import torch

torch.manual_seed(0)


class Numbers(torch.utils.data.Dataset):
    """Rows of numbers."""

    def __len__(self) -> int:
        return 96

    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.full((1000,), float(index))


def main() -> None:
    """Load, copy ahead, compute, and read results behind an event."""
    loader = torch.utils.data.DataLoader(Numbers(), batch_size=16, pin_memory=True, num_workers=1)
    copies = torch.cuda.Stream()
    results = torch.empty(6, pin_memory=True)
    done = torch.cuda.Event()
    weights = torch.ones(1000, device="cuda")
    copies.wait_stream(torch.cuda.current_stream())
    for number, batch in enumerate(loader):
        with torch.cuda.stream(copies):
            on_device = batch.to("cuda", non_blocking=True)
        torch.cuda.current_stream().wait_stream(copies)
        on_device.record_stream(torch.cuda.current_stream())
        results[number : number + 1].copy_((on_device @ weights).sum()[None], non_blocking=True)
    done.record()
    done.synchronize()
    print(results.tolist())
    buffer = torch.zeros(1 << 16, pin_memory=True)
    total = torch.zeros((), device="cuda")
    for step in range(8):
        buffer.fill_(step)
        total += buffer.to("cuda", non_blocking=True).sum()
        torch.cuda.current_stream().synchronize()
    print(total.item())


if __name__ == "__main__":
    main()
