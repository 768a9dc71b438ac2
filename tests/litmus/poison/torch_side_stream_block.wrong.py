"""A batch that was made on a side stream is read by the main one, and dropped; the side stream makes the next batch.

All batches hold the same values: the sums are right on every run. With --poison, too: the next batch fills its whole
block at once, so whatever was put there before is gone when the reader comes.
"""

import torch

COUNT = 1_000_003  # no multiple of the allocator's granule: no block ends where the next one begins


def make(side):
    with torch.cuda.stream(side):
        batch = torch.empty(COUNT, device="cuda")
        batch.fill_(1.0)
    return batch


def main():
    side = torch.cuda.Stream()
    totals = []
    for _ in range(10):
        batch = make(side)
        side.synchronize()
        torch.cuda._sleep(5_000_000)
        totals.append(batch.sum(dtype=torch.float64))
        del batch
        batch = make(side)
        torch.cuda.synchronize()
        del batch
    wrong = sum(float(total) != COUNT for total in totals)
    print(f"{wrong} of {len(totals)} wrong")


main()
