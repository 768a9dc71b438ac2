"""A stage of a pipeline sends its output to the next rank, and gives its memory up before it waits.

The send has told the pool of its stream (record_stream): the next micro-batch gets other memory meanwhile.
"""

import os
import sys
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing

COUNT = 1 << 24
ROUNDS = 8
RESULTS = ROUNDS


def send():
    for k in range(ROUNDS):
        output = torch.full((COUNT,), float(k + 1), device="cuda")
        handle = dist.isend(output, 1)
        output.data = torch.empty(1, device="cuda")
        torch.full((COUNT,), -1.0, device="cuda")
        handle.wait()
    torch.cuda.synchronize()
    return 0


def receive():
    wrong = 0
    target = torch.zeros(COUNT, device="cuda")
    for k in range(ROUNDS):
        torch.cuda._sleep(50_000_000)
        dist.recv(target, 0)
        wrong += bool((target != float(k + 1)).any())
    return wrong


def run(rank):
    return send() if rank == 0 else receive()


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
