"""All rules. Each module of this folder holds one, or a family: a new rule is a new module, and nothing lists it."""
