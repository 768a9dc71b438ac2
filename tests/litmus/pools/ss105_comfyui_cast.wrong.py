"""Weights live on the host and are cast to the device layer by layer, on a stream of their own (ComfyUI 10501).

The compute stream waits for the upload. The upload of the next layer does not wait for the compute stream.
"""

import torch

WIDTH = 1024


class Offloader:
    def __init__(self):
        self.stream = torch.cuda.Stream()

    def cast(self, host):
        with torch.cuda.stream(self.stream):
            weight = host.to("cuda", non_blocking=True)
        torch.cuda.current_stream().wait_stream(self.stream)
        return weight

    def uncast(self):
        self.stream.wait_stream(torch.cuda.current_stream())


class Layer:
    def __init__(self, value, offloader):
        self.host = torch.full((WIDTH, WIDTH), value).pin_memory()
        self.offloader = offloader

    def forward(self, x):
        weight = self.offloader.cast(self.host)
        torch.cuda._sleep(10_000_000)
        y = x @ weight
        return y


def main():
    offloader = Offloader()
    layers = [Layer(float(k), offloader) for k in range(12)]
    x = torch.ones(64, WIDTH, device="cuda")
    x @ x.T
    torch.cuda.synchronize()
    results = []
    for layer in layers:
        results.append(layer.forward(x))  # expect-note: SS105
    torch.cuda.synchronize()
    wrong = sum(bool((y != WIDTH * float(k)).any()) for k, y in enumerate(results))
    print(f"{wrong} of {len(results)} results wrong")


main()
