"""PyTorch: functions and a training step compiled by torch.compile. Prints results."""

import torch


@torch.compile
def scores(x: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    """Return normalised scores."""
    y = torch.nn.functional.gelu(x @ weights)
    return torch.softmax(y - y.mean(dim=-1, keepdim=True), dim=-1)


torch.manual_seed(0)
x, weights = torch.randn(64, 128, device="cuda"), torch.randn(128, 96, device="cuda")
print(f"{scores(x, weights).sum().item():.2f}")
model = torch.nn.Sequential(torch.nn.Linear(128, 64), torch.nn.LayerNorm(64), torch.nn.SiLU(), torch.nn.Linear(64, 1))
model = model.cuda()
compiled = torch.compile(model)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for _ in range(4):
    optimizer.zero_grad()
    loss = compiled(x).square().mean()
    loss.backward()
    optimizer.step()
print(bool(torch.isfinite(loss)))
side = torch.cuda.Stream()
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    again = scores(x, weights)
torch.cuda.current_stream().wait_stream(side)
print(f"{again.sum().item():.2f}")
