"""A tensor is dropped while another stream reads it; the next tensor gets its memory.

That one is filled in part, and with the same values: the sums are right on every run.
"""

import torch

COUNT = 1_000_003  # no multiple of the allocator's granule: no block ends where the next one begins


def main():
    side = torch.cuda.Stream()
    totals = []
    for _ in range(10):
        data = torch.ones(COUNT, device="cuda")
        torch.cuda.synchronize()
        with torch.cuda.stream(side):
            torch.cuda._sleep(5_000_000)
            totals.append(data.sum(dtype=torch.float64))
        del data
        other = torch.empty(COUNT, device="cuda")
        other[: COUNT // 2].fill_(1.0)
        torch.cuda.synchronize()
        del other
    wrong = sum(float(total) != COUNT for total in totals)
    print(f"{wrong} of {len(totals)} wrong")


main()
