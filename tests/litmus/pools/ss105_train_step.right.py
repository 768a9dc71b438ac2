# A training loop: a small transformer, AMP, a pinned prefetcher with record_stream, gradient accumulation, a graph.
import torch
from torch import nn


def main():
    torch.manual_seed(0)
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(64, 4, 128, batch_first=True), 2)
    model = nn.Sequential(encoder, nn.Flatten(), nn.Linear(64 * 16, 10)).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    scaler = torch.amp.GradScaler("cuda")
    copies = torch.cuda.Stream()
    data = [(torch.randn(32, 16, 64).pin_memory(), torch.randint(0, 10, (32,)).pin_memory()) for _ in range(8)]
    total = 0.0
    for k, (x, y) in enumerate(data * 2):
        with torch.cuda.stream(copies):
            xd, yd = x.cuda(non_blocking=True), y.cuda(non_blocking=True)
        torch.cuda.current_stream().wait_stream(copies)
        xd.record_stream(torch.cuda.current_stream())
        yd.record_stream(torch.cuda.current_stream())
        with torch.autocast("cuda"):
            loss = nn.functional.cross_entropy(model(xd), yd) / 2
        scaler.scale(loss).backward()
        if k % 2:
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad(set_to_none=True)
        total += loss.item()
    print(f"{0 if total > 0 else 1} of 1 wrong")


main()
