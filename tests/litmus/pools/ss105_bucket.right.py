# Gradients are reduced on a stream of their own: a bucket is flattened there and lives in no variable afterwards.
import torch


def reduce_bucket(grads, comm, done):
    flat = torch.cat([g.reshape(-1) for g in grads])
    comm.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(comm):
        torch.cuda._sleep(4_000_000)
        done.append(flat.sum(dtype=torch.float64))
    torch.cuda.current_stream().wait_stream(comm)


def main():
    comm = torch.cuda.Stream()
    done = []
    grads = [[torch.full((1 << 18,), float(k + j), device="cuda") for j in range(4)] for k in range(8)]
    torch.cuda.synchronize()
    for bucket in grads:
        reduce_bucket(bucket, comm, done)
        noise = torch.full((1 << 20,), 1e6, device="cuda")
        del noise
    torch.cuda.synchronize()
    wrong = sum(abs(float(s) - (1 << 18) * sum(k + j for j in range(4))) > 1 for k, s in enumerate(done))
    print(f"{wrong} of {len(done)} wrong")


main()
