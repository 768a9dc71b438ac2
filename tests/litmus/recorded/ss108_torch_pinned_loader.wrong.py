"""Input pipeline with a small ring of pinned staging tensors and a copy stream."""

from dataclasses import dataclass, field

import torch

BATCH = 1 << 18
RING = 2
BATCHES = 12


@dataclass
class Slot:
    host: torch.Tensor
    device: torch.Tensor
    uploaded: torch.cuda.Event = field(default_factory=torch.cuda.Event)
    consumed: torch.cuda.Event = field(default_factory=torch.cuda.Event)


def make_slot() -> Slot:
    host = torch.zeros(BATCH, dtype=torch.float32, pin_memory=True)
    device = torch.zeros(BATCH, dtype=torch.float32, device="cuda")
    return Slot(host, device)


class Dataset:
    """Produces batches on the CPU."""

    def __init__(self, length: int):
        self.length = length

    def read_into(self, out: torch.Tensor, index: int) -> None:
        out.fill_(float(index + 1))  # expect: SS108


class Loader:
    def __init__(self, dataset: Dataset):
        self.dataset = dataset
        self.slots = [make_slot() for _ in range(RING)]
        self.copy_stream = torch.cuda.Stream()
        torch.cuda.synchronize()

    def __iter__(self):
        for index in range(self.dataset.length):
            slot = self.slots[index % RING]
            self.dataset.read_into(slot.host, index)
            with torch.cuda.stream(self.copy_stream):
                self.copy_stream.wait_event(slot.consumed)
                torch.cuda._sleep(400_000)  # decompression on the device
                slot.device.copy_(slot.host, non_blocking=True)
                slot.uploaded.record(self.copy_stream)
            torch.cuda.current_stream().wait_event(slot.uploaded)
            yield index, slot


class Model:
    def __init__(self, batches: int):
        self.loss = torch.zeros(batches, dtype=torch.float64, device="cuda")

    def train_on(self, index: int, slot: Slot) -> None:
        self.loss[index].add_(slot.device.sum(dtype=torch.float64))
        slot.consumed.record()


def main() -> None:
    torch.cuda.init()
    model = Model(BATCHES)
    loader = Loader(Dataset(BATCHES))
    for index, slot in loader:
        model.train_on(index, slot)
    torch.cuda.synchronize()
    loss = model.loss.cpu()
    print("loss", [round(v / BATCH, 3) for v in loss.tolist()])


if __name__ == "__main__":
    main()
