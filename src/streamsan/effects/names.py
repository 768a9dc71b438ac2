"""What an API's name tells."""

from __future__ import annotations


def is_driver_name(api: str) -> bool:
    """Tell whether a name is one of the driver API: cuMemFreeAsync, not cudaFreeAsync."""
    return api.startswith("cu") and not api.startswith("cuda")
