"""The fake device for programs of both platforms."""

from fake_device import fake_device

__all__ = ["fake_device"]
