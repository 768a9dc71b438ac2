"""A captured step reduces a tensor over all ranks, and is replayed when the tensor was dropped.

The collective in the graph has the tensor's address, which is another one's by then.
"""

import os
import sys
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing

COUNT = 1 << 20
ROUNDS = 5
RESULTS = 2 * ROUNDS


def captured(graph, activations):
    """Capture a step that reduces a tensor."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        dist.all_reduce(activations)
    torch.cuda.current_stream().wait_stream(side)
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        dist.all_reduce(activations)


def run(rank):
    graph = torch.cuda.CUDAGraph()
    activations = torch.ones(COUNT, device="cuda")
    captured(graph, activations)
    activations = None
    wrong = 0
    for _ in range(ROUNDS):
        other = torch.ones(COUNT, device="cuda")
        graph.replay()  # expect: SS303
        torch.cuda.synchronize()
        wrong += bool((other != 1.0).any())
    graph.reset()
    return wrong


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
