"""PyTorch: a small residual net, loader workers, channels last, scaled mixed precision, validation. Prints results."""

import torch
from torch import nn
from torch.nn import functional


class Images(torch.utils.data.Dataset):
    """Images whose brightness is their class."""

    def __len__(self) -> int:
        return 128

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        generator = torch.Generator().manual_seed(index)
        return torch.rand(3, 32, 32, generator=generator) + index % 4, index % 4


class Residual(nn.Module):
    """Two convolutions beside a short cut."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(width, width, 3, padding=1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(inplace=True),
            nn.Conv2d(width, width, 3, padding=1, bias=False),
            nn.BatchNorm2d(width),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the sum of both ways."""
        return functional.relu(self.layers(x) + x)


def main() -> None:
    """Train, average the weights, and validate."""
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1),
        Residual(32),
        nn.MaxPool2d(2),
        Residual(32),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(32, 4),
    )
    model = model.cuda().to(memory_format=torch.channels_last)
    averaged = torch.optim.swa_utils.AveragedModel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, foreach=True)
    scaler = torch.amp.GradScaler("cuda")
    loader = torch.utils.data.DataLoader(
        Images(), batch_size=16, num_workers=2, pin_memory=True, persistent_workers=True, prefetch_factor=2
    )
    for _ in range(2):
        for images, classes in loader:
            images = images.to("cuda", non_blocking=True, memory_format=torch.channels_last)
            classes = classes.to("cuda", non_blocking=True)
            with torch.autocast("cuda", dtype=torch.float16):
                loss = functional.cross_entropy(model(images), classes)
            optimizer.zero_grad()
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            averaged.update_parameters(model)
    model.eval()
    right = torch.zeros((), dtype=torch.int64, device="cuda")
    with torch.inference_mode():
        for images, classes in loader:
            found = model(images.cuda(non_blocking=True)).argmax(dim=1)
            right += (found == classes.cuda(non_blocking=True)).sum()
    print("validated", 0 <= int(right) <= 128, bool(torch.isfinite(loss)), int(averaged.n_averaged))


if __name__ == "__main__":
    main()
