"""streamsan: which synchronisation a GPU program is missing, and which it does not need."""

__version__ = "0.1.0"
