"""The fake device for the tests of recorded programs."""

from fake_device import fake_device

__all__ = ["fake_device"]
