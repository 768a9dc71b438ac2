"""A hook of the backward pass fills a bucket on a stream of its own; it is reduced at once (Megatron-LM 3670).

The process group waits for the stream that is current at the call, which is not the hook's.
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
    hooks = torch.cuda.Stream()
    grads = [torch.full((COUNT,), float(k + 1), device="cuda") for k in range(ROUNDS)]
    buckets = [torch.zeros(COUNT, device="cuda") for _ in grads]
    shards = [torch.zeros(COUNT // 2, device="cuda") for _ in grads]
    torch.cuda.synchronize()
    for grad, bucket, shard in zip(grads, buckets, shards, strict=True):
        with torch.cuda.stream(hooks):
            torch.cuda._sleep(10_000_000)
            bucket.copy_(grad)
        torch.cuda.current_stream().wait_stream(hooks)
        work = dist.reduce_scatter_tensor(shard, bucket, async_op=True)
        work.wait()
    torch.cuda.synchronize()
    return sum(bool((shard != 2.0 * (k + 1)).any()) for k, shard in enumerate(shards))


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
