"""Damaged traces and sources, made from good ones. The same seed makes the same damage."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

_TOKEN = re.compile(r"[A-Za-z_]\w*|\d[\w.]*|\s+|\"(?:[^\"\\\n]|\\.)*\"|<<<|>>>|->|::|.", re.DOTALL)
_GARBAGE = (
    *(
        "{",
        "}",
        "(",
        ")",
        "<<<",
        ">>>",
        "template<",
        "#if 0",
        "#endif",
        "\\\n",
        "/*",
        "*/",
        '"',
        "'",
        'R"(',
        "%:",
        "??/",
    ),
    *("\0", "\u202e", "\ud7ff", "#include __FILE__\n", "#define f(x) f(f(x))\n", "operator", "...", "0x", "1e", ";"),
)
NUMBERS = (0, 1, 2**7, 2**8 - 1, 2**15, 2**16 - 1, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**63, 2**64 - 1)


def damaged_trace(data: bytes, chance: random.Random) -> bytes:
    """Return a trace with bits flipped, numbers replaced, parts cut out, doubled, moved, or its end missing."""
    damaged = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 5, 40))):
        if len(damaged) < 16:
            break
        at = chance.randrange(len(damaged) - 8)
        kind = chance.randrange(6)
        if kind == 0:
            damaged[at] ^= 1 << chance.randrange(8)
        elif kind == 1:
            size = chance.choice((1, 2, 4, 8))
            damaged[at : at + size] = (chance.choice(NUMBERS) % 256**size).to_bytes(size, "little")
        elif kind == 2:
            del damaged[at : at + chance.choice((1, 8, 64, 1024))]
        elif kind == 3:
            damaged[at:at] = damaged[at : at + chance.choice((8, 64, 4096))]
        elif kind == 4:
            size = chance.choice((8, 64, 256))
            to = chance.randrange(len(damaged))
            damaged[to : to + size] = damaged[at : at + size]
        else:
            del damaged[at:]
    return bytes(damaged)


def damaged_source(text: str, chance: random.Random) -> str:
    """Return a source with tokens lost, doubled, swapped, replaced by rubbish, lines moved, or deep nesting."""
    tokens = _TOKEN.findall(text)
    for _ in range(chance.choice((1, 1, 2, 5, 30))):
        if len(tokens) < 4:
            break
        chance.choice(_CHANGES)(tokens, chance)
    return "".join(tokens)


def _lose(tokens: list[str], chance: random.Random) -> None:
    at = chance.randrange(len(tokens))
    del tokens[at : at + chance.choice((1, 1, 3, 20))]


def _double(tokens: list[str], chance: random.Random) -> None:
    at = chance.randrange(len(tokens))
    tokens[at:at] = tokens[at : at + chance.choice((1, 10, 100))] * chance.choice((1, 1, 3))


def _swap(tokens: list[str], chance: random.Random) -> None:
    one, other = chance.randrange(len(tokens)), chance.randrange(len(tokens))
    tokens[one], tokens[other] = tokens[other], tokens[one]


def _rubbish(tokens: list[str], chance: random.Random) -> None:
    tokens[chance.randrange(len(tokens))] = chance.choice(_GARBAGE)


def _move(tokens: list[str], chance: random.Random) -> None:
    at, to = chance.randrange(len(tokens)), chance.randrange(len(tokens))
    part = tokens[at : at + 30]
    del tokens[at : at + 30]
    tokens[to:to] = part


def _nest(tokens: list[str], chance: random.Random) -> None:
    opening = chance.choice(("(", "{", "[", "if (x) ", "!", "a::", "f(", "template<class T> "))
    tokens.insert(chance.randrange(len(tokens)), opening * chance.choice((10, 300, 5000)))


def _cut(tokens: list[str], chance: random.Random) -> None:
    del tokens[chance.randrange(len(tokens)) :]


_CHANGES: tuple[Callable[[list[str], random.Random], None], ...] = (
    *(_lose, _double, _swap),
    *(_rubbish, _move, _nest, _cut),
)
