"""All layers share one buffer for their gathered weights (vllm-ascend 10694).

The next layer's weights come from the other device while the layer before still reads its own.
"""

import sys

import torch

COUNT = 1 << 22


class Model:
    def __init__(self, shards):
        self.shards = shards
        self.full = torch.zeros(COUNT, device="cuda:1")
        self.compute = torch.cuda.Stream(1)
        self.gathers = torch.cuda.Stream(1)

    def gather(self, layer):
        with torch.cuda.stream(self.gathers):
            self.full.copy_(self.shards[layer], non_blocking=True)  # expect: SS109

    def forward(self, out):
        self.compute.wait_stream(self.gathers)
        with torch.cuda.stream(self.compute):
            torch.cuda._sleep(10_000_000)
            out.copy_(self.full)


def main():
    if torch.cuda.device_count() < 2:
        print("needs two devices")
        sys.exit(0)
    model = Model([torch.full((COUNT,), float(k + 1), device="cuda:0") for k in range(8)])
    outputs = [torch.zeros(COUNT, device="cuda:1") for _ in range(8)]
    for device in range(2):
        torch.cuda.synchronize(device)
    for layer, out in enumerate(outputs):
        model.gather(layer)
        model.forward(out)
    for device in range(2):
        torch.cuda.synchronize(device)
    wrong = sum(bool((out != float(k + 1)).any()) for k, out in enumerate(outputs))
    print(f"{wrong} of {len(outputs)} results wrong")


main()
