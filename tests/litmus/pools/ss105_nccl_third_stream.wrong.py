"""A tensor is reduced on a side stream, which waits for that; the stream that made it does not (pytorch 188655).

`wait` gives up what the process group kept for it: the memory now goes by the order of the stream that made it.
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


def run(rank):
    current, side = torch.cuda.current_stream(), torch.cuda.Stream()
    others = []
    for k in range(ROUNDS):
        grad = torch.full((COUNT,), float(k + 1), device="cuda")
        side.wait_stream(current)
        with torch.cuda.stream(side):
            torch.cuda._sleep(10_000_000)
            work = dist.all_reduce(grad, async_op=True)
            work.wait()
        grad = work = None  # expect: SS105
        others.append(torch.full((COUNT,), -1.0, device="cuda"))
    torch.cuda.synchronize()
    return sum(bool((other != -1.0).any()) for other in others)


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
