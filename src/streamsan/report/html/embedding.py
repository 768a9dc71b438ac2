"""Data inside a page: whatever a trace or a source says stays data, and cannot become markup or script."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from streamsan.report.printable import printable

_IN_SCRIPT = {ord("<"): "\\u003c", ord(">"): "\\u003e", ord("&"): "\\u0026"}
_NAMES = {"u1": "Uint8", "u2": "Uint16", "u4": "Uint32", "i4": "Int32", "f4": "Float32", "f8": "Float64"}


def json_in_script(value: Any) -> str:
    """Return JSON that may stand between the tags of a script element: ASCII only, no `<`, `>` and `&`.

    So no text of the data can end the element or begin a comment there. Control and direction characters become U+FFFD.
    """
    text = json.dumps(_shown(value), ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return text.translate(_IN_SCRIPT)


def _shown(value: Any) -> Any:
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, Mapping):
        return {printable(str(key)): _shown(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_shown(each) for each in value]
    return value


class Arrays(Struct):
    """Columns of numbers, packed as base64 of gzip: a page of a million operations has some 10 MB instead of 30."""

    packed: list[str] = field(default_factory=list)

    def add(self, column: NDArray[Any], *, differences: bool = False) -> dict[str, Any]:
        """Take a column in; returns what its reader needs to know. `differences` packs ascending numbers better."""
        code = column.dtype.str[1:]
        values = column
        if differences and len(column):
            # Modulo 2^32, as the reader adds them up again.
            values = np.concatenate([column[:1], np.diff(column)])
        data = gzip.compress(np.ascontiguousarray(values, column.dtype.newbyteorder("<")).tobytes(), 5, mtime=0)
        self.packed.append(base64.b64encode(data).decode("ascii"))
        return {"at": len(self.packed) - 1, "type": _NAMES[code], "length": len(column), "differences": differences}
