"""From text to a typed tree: parsing (tree-sitter), `#if`, local includes, macros kept as calls, repairs."""

from streamsan.cuda_syntax.unit import read_text, read_unit

__all__ = ["read_text", "read_unit"]
