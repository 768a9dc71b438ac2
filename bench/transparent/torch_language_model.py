"""PyTorch: a small language model, in mixed precision with accumulated gradients; then it generates. Prints results."""

import torch
from torch import nn
from torch.nn import functional

VOCABULARY, WIDTH, HEADS, LENGTH = 128, 128, 4, 64


class Attention(nn.Module):
    """Causal attention, with a cache of keys and values when it generates."""

    def __init__(self) -> None:
        super().__init__()
        self.project = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)

    def forward(self, x: torch.Tensor, cache: dict | None = None) -> torch.Tensor:
        """Attend to what came before."""
        batch, length, _ = x.shape
        q, k, v = (part.view(batch, length, HEADS, -1).transpose(1, 2) for part in self.project(x).split(WIDTH, dim=2))
        if cache is not None:
            if self in cache:
                k, v = (torch.cat([old, new], dim=2) for old, new in zip(cache[self], (k, v), strict=True))
            cache[self] = k, v
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=length > 1)
        return self.out(y.transpose(1, 2).reshape(batch, length, WIDTH))


class Block(nn.Module):
    """One layer."""

    def __init__(self) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(2))
        self.attention = Attention()
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x: torch.Tensor, cache: dict | None = None) -> torch.Tensor:
        """Return the layer's output."""
        x = x + self.attention(self.norms[0](x), cache)
        return x + self.mlp(self.norms[1](x))


class Model(nn.Module):
    """The model."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, WIDTH)
        self.places = nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(3))
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, tokens: torch.Tensor, begin: int = 0, cache: dict | None = None) -> torch.Tensor:
        """Return the logits of the next tokens."""
        places = torch.arange(begin, begin + tokens.shape[1], device=tokens.device)
        x = self.tokens(tokens) + self.places(places)
        for block in self.blocks:
            x = block(x, cache)
        return self.head(x)


class Texts(torch.utils.data.Dataset):
    """Sequences that count upwards."""

    def __len__(self) -> int:
        return 96

    def __getitem__(self, index: int) -> torch.Tensor:
        return (torch.arange(LENGTH + 1) + index) % VOCABULARY


def trained() -> Model:
    """Train a model."""
    model = Model().cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, fused=True)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 24)
    loader = torch.utils.data.DataLoader(Texts(), batch_size=8, pin_memory=True, shuffle=False)
    losses = []
    for _ in range(2):
        for step, batch in enumerate(loader):
            tokens = batch.to("cuda", non_blocking=True)
            with torch.autocast("cuda", dtype=torch.bfloat16):
                logits = model(tokens[:, :-1])
                loss = functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten()) / 2
            loss.backward()
            if step % 2:
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                optimizer.zero_grad(set_to_none=True)
                schedule.step()
            losses.append(loss.detach())
    losses = torch.stack(losses).cpu()
    print("trained", bool(losses[-1] < losses[0]), len(losses))
    return model


@torch.inference_mode()
def generated(model: Model) -> None:
    """Generate with a cache of keys and values."""
    tokens = torch.arange(8, device="cuda")[None]
    cache: dict = {}
    logits = model(tokens, 0, cache)
    for place in range(8, 24):
        following = logits[:, -1:].argmax(dim=-1)
        tokens = torch.cat([tokens, following], dim=1)
        logits = model(following, place, cache)
    print("generated", tokens.shape[1])


torch.manual_seed(0)
generated(trained())
