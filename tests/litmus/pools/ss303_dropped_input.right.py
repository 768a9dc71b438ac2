# A captured step is replayed after its static input was dropped.
import torch


class Runner:
    def __init__(self, weight):
        self.weight = weight
        self.graph = torch.cuda.CUDAGraph()

    def capture(self, example):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                (example * self.weight).sum()
        torch.cuda.current_stream().wait_stream(side)
        with torch.cuda.graph(self.graph):
            self.out = (example * self.weight).sum()
        self.example = example

    def run(self):
        self.graph.replay()
        return self.out.item()


def main():
    runner = Runner(torch.full((1 << 20,), 2.0, device="cuda"))
    runner.capture(torch.ones(1 << 20, device="cuda"))
    first = runner.run()
    other = torch.full((1 << 20,), 5.0, device="cuda")
    results = [runner.run() for _ in range(10)]
    print(f"{sum(r != first for r in results)} of {len(results)} wrong", float(other[0]))


main()
