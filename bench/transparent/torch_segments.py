"""PyTorch: tensors of all sizes on three streams, in segments that grow, given back now and then. Prints results."""

import os

os.environ.setdefault("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True")

import torch

streams = [torch.cuda.Stream() for _ in range(3)]
sizes = torch.randint(1, 1 << 20, (120,), generator=torch.Generator().manual_seed(0)).tolist()
totals = []
kept: list[torch.Tensor] = []
for number, size in enumerate(sizes):
    producer, consumer = streams[number % 3], streams[(number + 1) % 3]
    with torch.cuda.stream(producer):
        made = torch.ones(size, device="cuda")
        halves = made[: size // 2], made[size // 2 :]
    consumer.wait_stream(producer)
    with torch.cuda.stream(consumer):
        totals.append(sum(half.sum(dtype=torch.float64) for half in halves))
    made.record_stream(consumer)
    if number % 7 == 0:
        kept.append(made)
    del made, halves
    if number % 40 == 39:
        torch.cuda.synchronize()
        kept.clear()
        torch.cuda.empty_cache()
torch.cuda.synchronize()
print([int(total) for total in totals] == sizes)
print(torch.cuda.memory_stats()["num_alloc_retries"])
