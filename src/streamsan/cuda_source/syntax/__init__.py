"""From text to a typed tree: parsing (tree-sitter), `#if`, local includes, macros kept as calls, repairs."""
