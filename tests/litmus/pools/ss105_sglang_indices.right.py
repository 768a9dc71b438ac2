"""A scheduler that runs ahead of the forward pass (sglang 34076).

The indices of a batch are made in the scheduler's stream and read in the forward stream, long after the next batch
has taken the place of this one.
"""

import torch

SLOTS = 4096


class Batch:
    def __init__(self, number):
        self.number = number
        self.indices = torch.full((SLOTS,), number, dtype=torch.int64, device="cuda")


class Scheduler:
    def __init__(self, table):
        self.table = table
        self.forward_stream = torch.cuda.Stream()
        self.batch = None
        self.gathered = []

    def run(self, number):
        self.batch = Batch(number)
        self.forward_stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.forward_stream):
            torch.cuda._sleep(20_000_000)
            self.gathered.append(self.table[self.batch.indices].sum(dtype=torch.float64))
        self.batch.indices.record_stream(self.forward_stream)


def main():
    table = torch.arange(64, dtype=torch.float32, device="cuda")
    scheduler = Scheduler(table)
    for number in range(12):
        scheduler.run(number)
    torch.cuda.synchronize()
    wrong = sum(float(total) != number * SLOTS for number, total in enumerate(scheduler.gathered))
    print(f"{wrong} of {len(scheduler.gathered)} results wrong")


main()
