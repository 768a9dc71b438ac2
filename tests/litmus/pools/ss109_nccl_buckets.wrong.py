"""Two buckets take turns: gradients go into one while the other is reduced over all ranks (DeepSpeed 5606).

The reduction's stream waits for the gradients, but nothing makes the next gradients wait for the reduction.
"""

import os
import sys
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing

COUNT = 1 << 22
ROUNDS = 8
RESULTS = 2 * ROUNDS


class Buckets:
    def __init__(self):
        self.reduction = torch.cuda.Stream()
        self.buffers = [torch.zeros(COUNT, device="cuda") for _ in range(2)]
        self.reduced = [torch.cuda.Event() for _ in self.buffers]
        self.turn = 0

    def fill(self, grad):
        self.buffers[self.turn].copy_(grad)  # expect: SS109

    def reduce(self, out):
        self.reduction.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.reduction):
            torch.cuda._sleep(10_000_000)
            dist.all_reduce(self.buffers[self.turn])
            out.copy_(self.buffers[self.turn])
            self.reduced[self.turn].record()
        self.turn = 1 - self.turn


def run(rank):
    buckets = Buckets()
    grads = [torch.full((COUNT,), float(k + 1), device="cuda") for k in range(ROUNDS)]
    sums = [torch.zeros(COUNT, device="cuda") for _ in grads]
    torch.cuda.synchronize()
    for grad, out in zip(grads, sums, strict=True):
        buckets.fill(grad)
        buckets.reduce(out)
    torch.cuda.synchronize()
    return sum(bool((out != 2.0 * (k + 1)).any()) for k, out in enumerate(sums))


def worker(rank, place):
    os.environ.update(RANK=str(rank), WORLD_SIZE="2", LOCAL_RANK=str(rank))
    torch.cuda.set_device(rank)
    device = torch.device("cuda", rank)
    dist.init_process_group("nccl", init_method=f"file://{place}/store", rank=rank, world_size=2, device_id=device)
    total = torch.zeros(1, device=device)
    dist.all_reduce(total)
    torch.cuda.synchronize()
    total += run(rank)
    dist.all_reduce(total)
    if rank == 0:
        print(f"{int(total.item())} of {RESULTS} results wrong", flush=True)
    dist.destroy_process_group()


def main():
    if torch.cuda.device_count() < 2:
        print("needs two devices")
        sys.exit(0)
    with tempfile.TemporaryDirectory() as place:
        torch.multiprocessing.spawn(worker, (place,), nprocs=2)


if __name__ == "__main__":
    main()
