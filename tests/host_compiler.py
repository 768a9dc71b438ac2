"""The C++ compiler of this machine, which compiles test programs."""

from __future__ import annotations

import os
import shutil

COMPILER = os.environ.get("CXX") or shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
"""None: there is none"""
AT_LENGTH = ("--param", "ggc-min-expand=1000", "--param", "ggc-min-heapsize=2000000")
"""for large units: GCC collects no garbage below 2 GB, which takes a tenth of its time"""
