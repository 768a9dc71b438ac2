"""Memory is taken first, and its stream waits before the first use: a block that was just dropped may be handed out."""

import torch

COUNT = 1 << 20


def main():
    side, out = torch.cuda.Stream(), torch.cuda.Stream()
    results = []
    for k in range(8):
        with torch.cuda.stream(side):
            made = torch.full((COUNT,), float(k), device="cuda")
        out.wait_stream(side)
        with torch.cuda.stream(out):
            torch.cuda._sleep(5_000_000)
            results.append(made.sum(dtype=torch.float64))
        del made
        with torch.cuda.stream(side):
            fresh = torch.empty(COUNT, device="cuda")
            side.wait_stream(out)
            fresh.fill_(-1.0)
        del fresh
    torch.cuda.synchronize()
    wrong = sum(float(total) != float(k) * COUNT for k, total in enumerate(results))
    print(f"{wrong} of {len(results)} results wrong")


main()
