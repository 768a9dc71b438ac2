"""Shared experts run beside the routed ones on a clone of the tokens, which is dropped when both have joined."""

import torch

COUNT = 1 << 20


class Experts:
    def __init__(self):
        self.shared_stream = torch.cuda.Stream()

    def forward(self, hidden):
        clone = hidden.clone()
        self.shared_stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.shared_stream):
            torch.cuda._sleep(5_000_000)
            shared = clone * 3.0
        hidden.mul_(2.0)
        torch.cuda.current_stream().wait_stream(self.shared_stream)
        result = hidden + shared
        shared.record_stream(torch.cuda.current_stream())
        return result


def main():
    experts = Experts()
    results = []
    for k in range(8):
        results.append(experts.forward(torch.full((COUNT,), float(k), device="cuda")).mean())
    torch.cuda.synchronize()
    wrong = sum(abs(float(mean) - 5.0 * k) > 1e-3 for k, mean in enumerate(results))
    print(f"{wrong} of {len(results)} results wrong")


main()
