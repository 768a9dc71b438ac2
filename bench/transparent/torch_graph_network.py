"""PyTorch: message passing on a random graph, by scatter and by sparse products; with PyG if there. Prints results."""

import torch
from torch import nn
from torch.nn import functional

try:
    from torch_geometric.nn import GCNConv
except ImportError:
    GCNConv = None

NODES, EDGES, WIDTH = 2000, 16000, 64


class Convolution(nn.Module):
    """The mean of the neighbours, weighed."""

    def __init__(self) -> None:
        super().__init__()
        self.own, self.others = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH, bias=False)

    def forward(self, x: torch.Tensor, edges: torch.Tensor) -> torch.Tensor:
        """Return the nodes' new features."""
        source, target = edges
        messages = torch.zeros_like(x).index_add_(0, target, self.others(x)[source])
        degree = torch.zeros(NODES, device=x.device).scatter_add_(0, target, torch.ones_like(target, dtype=x.dtype))
        return functional.relu(self.own(x) + messages / degree.clamp(min=1)[:, None])


def main() -> None:
    """Train a network on one graph, and multiply by its adjacency."""
    torch.manual_seed(0)
    edges = torch.randint(0, NODES, (2, EDGES)).cuda()
    features = torch.randn(NODES, WIDTH).cuda()
    classes = torch.randint(0, 8, (NODES,)).cuda()
    layers = nn.ModuleList([Convolution(), Convolution()]).cuda()
    if GCNConv is not None:
        layers.append(GCNConv(WIDTH, WIDTH).cuda())
    head = nn.Linear(WIDTH, 8).cuda()
    optimizer = torch.optim.Adam([*layers.parameters(), *head.parameters()], lr=0.01)
    losses = []
    for _ in range(8):
        x = features
        for layer in layers:
            x = functional.dropout(layer(x, edges), 0.1)
        loss = functional.cross_entropy(head(x), classes)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    print("trained", losses[-1] < losses[0])
    adjacency = torch.sparse_coo_tensor(edges, torch.ones(EDGES, device="cuda"), (NODES, NODES)).coalesce()
    compressed = adjacency.to_sparse_csr()
    ones = torch.ones(NODES, 4, device="cuda")
    print("edges", int((compressed @ ones)[:, 0].sum()), int(torch.sparse.mm(adjacency, ones).sum()))
    order = torch.argsort(edges[1])
    print("sorted", bool((edges[1][order].diff() >= 0).all()), len(torch.unique(edges[1])) <= NODES)


main()
