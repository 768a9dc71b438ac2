"""The fake device for tests of blocks of a running program."""

from fake_device import fake_device

__all__ = ["fake_device"]
