"""Inference server loop: a captured model is replayed on a dedicated stream."""

import torch

WIDTH = 1 << 18
REQUESTS = 10


def tiny_model(x: torch.Tensor) -> torch.Tensor:
    y = torch.relu(x * 0.5 - 1.0)
    y = y + torch.sqrt(y + 1.0)
    return y * 2.0


class CapturedModel:
    def __init__(self, width: int):
        self.static_in = torch.zeros(width, device="cuda")
        self.infer = torch.cuda.Stream()
        self._warm_up()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.static_out = tiny_model(self.static_in)
        torch.cuda.synchronize()

    def _warm_up(self) -> None:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(2):
                tiny_model(self.static_in)
        torch.cuda.current_stream().wait_stream(side)
        torch.cuda.synchronize()

    def submit(self, request: torch.Tensor, answer: torch.Tensor) -> None:
        current = torch.cuda.current_stream()
        current.wait_stream(self.infer)
        torch.cuda._sleep(500_000)  # request post-processing of the transport layer
        self.static_in.copy_(request)
        self.infer.wait_stream(current)
        with torch.cuda.stream(self.infer):
            self.graph.replay()
            answer.copy_(self.static_out)


class Server:
    def __init__(self, requests: int):
        self.model = CapturedModel(WIDTH)
        self.requests = [torch.full((WIDTH,), 4.0 + r, device="cuda") for r in range(requests)]
        self.answers = [torch.zeros(WIDTH, device="cuda") for _ in range(requests)]
        torch.cuda.synchronize()

    def serve(self) -> None:
        for request, answer in zip(self.requests, self.answers, strict=True):
            self.model.submit(request, answer)
        torch.cuda.synchronize()

    def digest(self):
        return [round(a.double().mean().item(), 4) for a in self.answers]


def main() -> None:
    torch.cuda.init()
    server = Server(REQUESTS)
    server.serve()
    print("answers", server.digest())


if __name__ == "__main__":
    main()
