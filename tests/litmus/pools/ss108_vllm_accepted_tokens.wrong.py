"""How many tokens were accepted is downloaded into pinned memory, and read in the next step (vllm 36013).

With asynchronous scheduling nothing waits for the download in between.
"""

import torch

REQUESTS = 256


class Runner:
    def __init__(self):
        self.accepted = torch.zeros(REQUESTS, dtype=torch.int32, device="cuda")
        self.accepted_host = torch.zeros(REQUESTS, dtype=torch.int32).pin_memory()
        self.accepted_rows = self.accepted_host.numpy()

    def execute(self, step):
        torch.cuda._sleep(10_000_000)
        self.accepted.add_(step)
        self.accepted_host.copy_(self.accepted, non_blocking=True)

    def metadata(self):
        return int(self.accepted_rows.sum())  # expect: SS108


def main():
    runner = Runner()
    runner.accepted.add_(0)
    torch.cuda.synchronize()
    seen, expected, total = [], [], 0
    for step in range(1, 11):
        runner.execute(step)
        seen.append(runner.metadata())
        total += step
        expected.append(total * REQUESTS)
    torch.cuda.synchronize()
    wrong = sum(got != wanted for got, wanted in zip(seen, expected, strict=True))
    print(f"{wrong} of {len(seen)} results wrong")


main()
