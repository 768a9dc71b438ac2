"""An activation is needed before its prefetch: it is reloaded on the spot (Megatron-LM 7398).

The reload reads the pinned buffer while the download that fills it is still under way on its own stream.
"""

import torch

COUNT = 1 << 20


class Handler:
    def __init__(self):
        self.downloads = torch.cuda.Stream()
        self.host = torch.zeros(COUNT).pin_memory()
        self.offloaded = torch.cuda.Event()

    def offload(self, activation):
        self.downloads.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.downloads):
            torch.cuda._sleep(10_000_000)
            self.host.copy_(activation, non_blocking=True)
            self.offloaded.record()

    def reload(self, out):
        out.copy_(self.host, non_blocking=True)  # expect: SS109
        return out


def main():
    handlers = [Handler() for _ in range(8)]
    activations = [torch.full((COUNT,), float(k + 1), device="cuda") for k in range(8)]
    restored = [torch.zeros(COUNT, device="cuda") for _ in range(8)]
    torch.cuda.synchronize()
    for handler, activation, out in zip(handlers, activations, restored, strict=True):
        handler.offload(activation)
        handler.reload(out)
    torch.cuda.synchronize()
    wrong = sum(bool((out != float(k + 1)).any()) for k, out in enumerate(restored))
    print(f"{wrong} of {len(restored)} results wrong")


main()
