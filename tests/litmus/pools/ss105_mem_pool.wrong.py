# A pool of the program's own: blocks of it change hands as those of the general one.
import torch


def branch(x, stream, pool):
    with torch.cuda.stream(stream), torch.cuda.use_mem_pool(pool):
        stream.wait_stream(torch.cuda.default_stream())
        return torch.relu(x) + 1.0


def main():
    pool = torch.cuda.MemPool()
    a, b = torch.cuda.Stream(), torch.cuda.Stream()
    x = torch.ones(1 << 20, device="cuda")
    results = []
    for k in range(10):
        left = branch(x * k, a, pool)
        b.wait_stream(a)
        with torch.cuda.stream(b):
            torch.cuda._sleep(3_000_000)
            results.append((left * 2).mean())
        del left  # expect: SS105
        torch.cuda.default_stream().wait_stream(a)
    torch.cuda.synchronize()
    wrong = sum(abs(float(r) - 2 * (k + 1)) > 1e-6 for k, r in enumerate(results))
    print(f"{wrong} of {len(results)} wrong")


main()
