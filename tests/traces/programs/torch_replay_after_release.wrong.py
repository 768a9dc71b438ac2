"""A captured graph is replayed after the memory of its input was given back to the device."""

import torch

weights = torch.ones(1 << 22, device="cuda")
inputs = torch.ones(1 << 22, device="cuda")
torch.cuda.synchronize()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    result = inputs * weights
graph.replay()
torch.cuda.synchronize()
print(float(result.sum()))

del inputs
torch.cuda.empty_cache()
other = torch.zeros(1 << 22, device="cuda")  # gets the address
graph.replay()  # expect: SS303
torch.cuda.synchronize()
print(float(result.sum()))
