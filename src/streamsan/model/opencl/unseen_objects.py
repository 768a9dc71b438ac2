"""Objects that were given to code that nobody sees."""

from __future__ import annotations

from collections.abc import Iterable

from streamsan.model.opencl.objects import ClObject, Kernel, MemoryObject
from streamsan.model.process_state import HostThread
from streamsan.model.values import Handle, Value
from streamsan.trace.references import Reference
from streamsan.vocabulary import AccessMode


def given_away(thread: HostThread, values: Iterable[Value]) -> list[Reference]:
    """Take down that code nobody sees has these objects; return the memory that it may use.

    It may hold references of its own, or have dropped the program's, and give a kernel any argument.
    """
    found: list[Reference] = []
    for value in values:
        thing = thread.process.handles.get(value.value) if isinstance(value, Handle) else None
        if not isinstance(thing, ClObject):
            continue
        # Imported late: programs without OpenCL have no such objects.
        from streamsan.model.opencl.memory_objects import reference_to

        thing.shared = True
        if isinstance(thing, MemoryObject) and thing.allocation is not None:
            found.append(reference_to(thing, AccessMode.OPAQUE))
        if isinstance(thing, Kernel):
            thing.unclear = True
            found += [
                reference_to(each, AccessMode.OPAQUE)
                for each in thing.arguments.values()
                if isinstance(each, MemoryObject) and each.allocation is not None
            ]
    return found
