"""Two objects of a class hold the same pointer, and the destructor of each frees it: one was copied from the other."""

from __future__ import annotations

from msgspec import Struct

from streamsan.order.facts import Operation
from streamsan.patterns.late_pattern import late_pattern
from streamsan.rules.case import Case

_DESTRUCTOR = late_pattern(r"(?:^|::|\s)~(\w+)")
"""the class in the name of a function, where that is a destructor"""


class CopiedOwner(Struct, frozen=True):
    """A class whose objects hold one pointer, and the functions in which two of them end, "" where not known."""

    name: str
    first: str
    second: str

    @property
    def reason(self) -> str:
        """What to say of the two objects."""
        if self.first and self.second and self.first != self.second:
            return f"two objects of `{self.name}` hold it: one frees it in `{self.first}`, the other in `{self.second}`"
        return f"two objects of `{self.name}` hold it, and the destructor of each frees it"

    @property
    def fix(self) -> str:
        """What to change: text for people."""
        return f"delete the copy constructor and copy assignment of `{self.name}`: move it, or pass it by reference"


def copied_owner(case: Case, first: Operation | None, second: Operation) -> CopiedOwner | None:
    """Return the class whose destructor makes both of two frees at one place, None where there is none."""
    if first is None or case.place(first) != case.place(second):
        return None
    found = _DESTRUCTOR.search(case.names.site(second.site).function)
    if found is None:
        return None
    ends = [case.names.site(case.names.site(free.site).caller).function for free in (first, second)]
    return CopiedOwner(found[1], *ends)
