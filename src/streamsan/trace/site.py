"""Where an operation was issued."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Site:
    """A call site. Lines and columns count from 1; 0: unknown. `caller` is the site id of the call it is nested in."""

    file: str
    line: int
    column: int = 0
    end_line: int = 0
    end_column: int = 0
    function: str = ""
    text: str = ""
    """the call as written, on one line, at most 200 characters"""
    label: str = ""
    """what the operation makes or runs, in the program's own words: the variable (`d_x`), the kernel (`scale`),
    the reason of a NOT_UNDERSTOOD or MALFORMED_CALL"""
    caller: int = 0
    module: int = 0
    """module id of a native frame of a recorded stack; 0: not one"""
    offset: int = 0
    """address of the frame's instruction as in the module's file"""
    runtime: str = ""
    """function of the CUDA runtime that the program called there (`cudaFreeAsync`), where a recorded stack shows it"""
