"""Page tables go to the device from one pinned buffer, each step (TensorRT-LLM 15546).

The host runs a step ahead and writes the next table where the copy of this one still reads.
"""

import torch

BLOCKS = 4096


class Offsets:
    def __init__(self, steps):
        self.host = torch.zeros(BLOCKS, dtype=torch.int32).pin_memory()
        self.devices = [torch.zeros(BLOCKS, dtype=torch.int32, device="cuda") for _ in range(steps)]

    def upload(self, step):
        rows = self.host.numpy()
        rows[:] = step + 1  # expect: SS108
        self.devices[step].copy_(self.host, non_blocking=True)
        return self.devices[step]


def main():
    steps = 12
    offsets = Offsets(steps)
    totals = torch.zeros(steps, dtype=torch.int64, device="cuda")
    totals[0] = offsets.devices[0].sum()
    torch.cuda.synchronize()
    for step in range(steps):
        torch.cuda._sleep(5_000_000)
        table = offsets.upload(step)
        totals[step] = table.sum()
    torch.cuda.synchronize()
    wrong = sum(int(total) != (step + 1) * BLOCKS for step, total in enumerate(totals.tolist()))
    print(f"{wrong} of {steps} results wrong")


main()
