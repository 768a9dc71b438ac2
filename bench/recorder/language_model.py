"""A training step of a GPT in mixed precision. Prints the milliseconds of a step, a median.

`language_model.py STEPS ROUNDS` runs by itself, `language_model.py serve` runs what its input asks for (served.py). Six
layers, 24 sequences of 512 tokens, a vocabulary of 16,000; AdamW, gradients clipped. By default it has a width of 768
and 12 heads: a large GPU waits for its launches. With `large` as the first word it has a width of 2,048 and 16 heads:
the launches wait for the GPU.
"""

import sys

import torch
from served import StandIn, workload
from torch import nn

stand_in = StandIn()
torch.manual_seed(0)
VOCABULARY, LAYERS, TOKENS, BATCH = 16_000, 6, 512, 24
WIDTH, HEADS = (2048, 16) if "large" in sys.argv[1:] else (768, 12)


class Block(nn.Module):
    """Attention and a feed-forward net, each behind a norm."""

    def __init__(self) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(2))
        self.projection = nn.Linear(WIDTH, 3 * WIDTH)
        self.output = nn.Linear(WIDTH, WIDTH)
        self.feed = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        """Return values of the same shape: sequences, tokens, width."""
        query, key, value = (
            part.unflatten(-1, (HEADS, -1)).transpose(1, 2)
            for part in self.projection(self.norms[0](values)).chunk(3, dim=-1)
        )
        attended = nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        values = values + self.output(attended.transpose(1, 2).flatten(2))
        return values + self.feed(self.norms[1](values))


class LanguageModel(nn.Module):
    """Logits of the next token."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(VOCABULARY, WIDTH)
        self.places = nn.Embedding(TOKENS, WIDTH)
        self.blocks = nn.Sequential(*(Block() for _ in range(LAYERS)))
        self.head = nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY, bias=False))

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Return the logits of tokens: sequences, tokens, vocabulary."""
        places = torch.arange(tokens.shape[1], device=tokens.device)
        return self.head(self.blocks(self.words(tokens) + self.places(places)))


model = LanguageModel().cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
data = torch.randint(0, VOCABULARY, (BATCH, TOKENS + 1)).pin_memory()


def step() -> None:
    """Run one step."""
    tokens = data.to("cuda", non_blocking=True)
    optimizer.zero_grad()
    with torch.autocast("cuda", torch.bfloat16):
        logits = model(tokens[:, :-1])
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()


workload(stand_in, step, torch.cuda.synchronize, first=10, steps=20, warm_up=2)
