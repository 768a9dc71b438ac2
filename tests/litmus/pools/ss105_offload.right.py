# Activations go to the host on a stream of their own, and are dropped at once.
import torch


class Offloader:
    def __init__(self):
        self.out = torch.cuda.Stream()
        self.kept = []

    def offload(self, activation):
        self.out.wait_stream(torch.cuda.current_stream())
        host = torch.empty(activation.shape, dtype=activation.dtype, pin_memory=True)
        with torch.cuda.stream(self.out):
            torch.cuda._sleep(4_000_000)
            host.copy_(activation, non_blocking=True)
        activation.record_stream(self.out)
        self.kept.append(host)


def main():
    offloader = Offloader()
    x = torch.ones(1 << 20, device="cuda")
    for layer in range(12):
        activation = x * float(layer)
        offloader.offload(activation)
        del activation
        scratch = torch.full((1 << 20,), -7.0, device="cuda")
        del scratch
    torch.cuda.synchronize()
    wrong = sum(bool((host != float(k)).any()) for k, host in enumerate(offloader.kept))
    print(f"{wrong} of {len(offloader.kept)} wrong")


main()
