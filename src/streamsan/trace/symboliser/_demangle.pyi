def demangle(name: str) -> str | None:
    """Return the readable form of a mangled C++ name; None for what is none, or longer than 4096 bytes."""
