"""The version of streamsan: what `--version` says, and what traces and reports name."""

VERSION = "0.1.0"
