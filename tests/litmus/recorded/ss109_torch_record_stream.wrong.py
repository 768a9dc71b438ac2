"""Feature extraction with statistics computed on a side stream.

Every chunk's features are a fresh tensor; only the statistics survive.
"""

import torch

CHUNK = 1 << 20
CHUNKS = 10


class Statistics:
    def __init__(self, chunks: int):
        self.stream = torch.cuda.Stream()
        self.sums = torch.zeros(chunks, dtype=torch.float64, device="cuda")
        self.peaks = torch.zeros(chunks, dtype=torch.float32, device="cuda")

    def submit(self, index: int, features: torch.Tensor) -> None:
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            torch.cuda._sleep(800_000)  # stands in for a costly transform
            torch.sum(features, dim=0, dtype=torch.float64, out=self.sums[index])
            torch.amax(features, dim=0, out=self.peaks[index])

    def collect(self):
        self.stream.synchronize()
        return self.sums.tolist(), self.peaks.tolist()


class Extractor:
    """Runs on the current stream."""

    def __init__(self):
        self.base = torch.arange(CHUNK, device="cuda", dtype=torch.float32).remainder_(64.0)

    def features(self, index: int) -> torch.Tensor:
        return self.base * float(index + 1)  # expect: SS109


class Session:
    def __init__(self, chunks: int):
        self.chunks = chunks
        self.extractor = Extractor()
        self.statistics = Statistics(chunks)
        torch.cuda.synchronize()

    def process(self, index: int) -> None:
        features = self.extractor.features(index)
        self.statistics.submit(index, features)
        # `features` goes out of scope here

    def run(self):
        for index in range(self.chunks):
            self.process(index)
        return self.statistics.collect()


def main() -> None:
    torch.cuda.init()
    sums, peaks = Session(CHUNKS).run()
    print("sums", [int(s) for s in sums])
    print("peaks", peaks)


if __name__ == "__main__":
    main()
