"""Parameters are gathered from all ranks ahead of their use, and used before the gathering is waited for.

The call returns when the gathering is enqueued, on a stream of the process group; the other rank comes late.
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
    shards = [torch.full((COUNT // 2,), float(k + 1), device="cuda") for k in range(ROUNDS)]
    parameters = [torch.zeros(COUNT, device="cuda") for _ in shards]
    layers = [torch.zeros(COUNT, device="cuda") for _ in shards]
    torch.cuda.synchronize()
    for shard, gathered, layer in zip(shards, parameters, layers, strict=True):
        if rank == 1:
            torch.cuda._sleep(10_000_000)
        work = dist.all_gather_into_tensor(gathered, shard, async_op=True)
        work.wait()
        layer.copy_(gathered)
    torch.cuda.synchronize()
    return sum(bool((layer != float(k + 1)).any()) for k, layer in enumerate(layers))


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
