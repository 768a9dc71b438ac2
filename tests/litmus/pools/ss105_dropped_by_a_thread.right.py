"""A thread drops tensors behind an event: a pool block changes hands on another thread than it was made on."""

import queue
import threading

import torch

COUNT = 1 << 20


def collect(work):
    """Drop each tensor when the work that reads it is over."""
    while (item := work.get()) is not None:
        tensors, done = item
        done.synchronize()
        tensors.clear()
        del tensors, item


def main():
    side = torch.cuda.Stream()
    work = queue.Queue()
    collector = threading.Thread(target=collect, args=(work,))
    collector.start()
    results = []
    for k in range(12):
        made = torch.full((COUNT,), float(k), device="cuda")
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            torch.cuda._sleep(2_000_000)
            results.append(made.sum(dtype=torch.float64))
            done = torch.cuda.Event()
            done.record()
        held = [made]
        del made
        work.put((held, done))
        del held
        torch.full((COUNT,), -1.0, device="cuda")
    work.put(None)
    collector.join()
    torch.cuda.synchronize()
    wrong = sum(float(total) != float(k) * COUNT for k, total in enumerate(results))
    print(f"{wrong} of {len(results)} results wrong")


main()
