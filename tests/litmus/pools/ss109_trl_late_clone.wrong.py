"""Activations are cloned on the compute stream and downloaded on another (trl 7195).

The download stream looked at the compute stream before the clone was issued: its wait does not cover it.
"""

import torch

COUNT = 1 << 20


class Offload:
    def __init__(self, hosts):
        self.downloads = torch.cuda.Stream()
        self.hosts = hosts
        self.kept = []

    def pack(self, view):
        self.downloads.wait_stream(torch.cuda.current_stream())
        torch.cuda._sleep(5_000_000)
        whole = view.clone()
        host = self.hosts[len(self.kept)]
        with torch.cuda.stream(self.downloads):
            host.copy_(whole, non_blocking=True)  # expect: SS109
        self.kept.append(whole)


def main():
    labels = torch.arange(COUNT + 1, dtype=torch.float32, device="cuda")
    hosts = [torch.zeros(COUNT).pin_memory() for _ in range(8)]
    offload = Offload(hosts)
    labels[1:].clone()
    torch.cuda.synchronize()
    for _ in hosts:
        offload.pack(labels[1:])
    torch.cuda.synchronize()
    shifted = torch.arange(1, COUNT + 1, dtype=torch.float32)
    wrong = sum(not torch.equal(host, shifted) for host in hosts)
    print(f"{wrong} of {len(hosts)} results wrong")


main()
