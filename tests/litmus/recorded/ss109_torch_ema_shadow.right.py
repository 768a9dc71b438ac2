"""Toy trainer that keeps an exponential moving average of its parameters.

The average is maintained on a side stream so that it does not delay the step.
"""

import torch

SIZE = 1 << 20
STEPS = 12
SPIN = 600_000  # clock cycles that stand in for the backward pass


class ShadowAverage:
    """EMA copy of a parameter, updated on its own stream."""

    def __init__(self, param: torch.Tensor, decay: float):
        self.decay = decay
        self.shadow = torch.zeros_like(param)
        self.stream = torch.cuda.Stream()

    def update(self, param: torch.Tensor) -> None:
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            self.shadow.mul_(self.decay)
            self.shadow.add_(param, alpha=1.0 - self.decay)

    def before_write(self) -> None:
        torch.cuda.current_stream().wait_stream(self.stream)


class Optimizer:
    def __init__(self, param: torch.Tensor, lr: float):
        self.param = param
        self.lr = lr
        self.grad = torch.empty_like(param)

    def step(self, n: int) -> None:
        torch.cuda._sleep(SPIN)
        self.grad.fill_(float(n % 5) - 1.0)
        self.param.add_(self.grad, alpha=-self.lr)


class Trainer:
    def __init__(self):
        self.param = torch.ones(SIZE, device="cuda")
        self.optimizer = Optimizer(self.param, lr=0.125)
        self.average = ShadowAverage(self.param, decay=0.5)
        torch.cuda.synchronize()

    def run(self, steps: int) -> None:
        for n in range(steps):
            self.average.before_write()
            self.optimizer.step(n)
            self.average.update(self.param)

    def report(self) -> str:
        torch.cuda.synchronize()
        return f"param {self.param.double().sum().item():.3f} ema {self.average.shadow.double().sum().item():.3f}"


def main() -> None:
    torch.cuda.init()
    trainer = Trainer()
    trainer.run(STEPS)
    print(trainer.report())


if __name__ == "__main__":
    main()
