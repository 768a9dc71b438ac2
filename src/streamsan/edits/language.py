"""What the edits ask of a programming language: its places, its names, and how code is written in it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Generic, Protocol, TypeVar

from msgspec import Struct

from streamsan.edits.code_place import Argument, CodePlace, Node
from streamsan.edits.layout import Layout
from streamsan.edits.source_text import SourceText
from streamsan.evidence.fix.event_steps import WaitForRecorded
from streamsan.evidence.fix.order_steps import EdgeBetween
from streamsan.evidence.fix.steps import Calls
from streamsan.findings.finding import Edit
from streamsan.order.facts import Operation

P = TypeVar("P", bound=CodePlace)
KernelText = tuple[str, bool]
"""the call that waits in a kernel, and whether it may stand in the line of other code"""


class Code(Struct, frozen=True):
    """Code that is put in."""

    lines: tuple[str, ...]
    words: tuple[str, ...] = ()
    """what to say of it: making and destroying an event goes without saying"""

    def __add__(self, other: Code) -> Code:
        return Code(self.lines + other.lines, self.words + other.words)


class Group(Struct, frozen=True):
    """Neighbouring statements of one block, and the blocks that they may be moved into."""

    statements: tuple[Node, ...]
    blocks: tuple[Node, ...]
    """their own first, then those around it that are run whenever it is"""


class Phrases(Protocol):
    """How calls are written at one place: by the names that are known there, and checked as those around it."""

    @property
    def calls(self) -> Calls:
        """The functions to call: those of the runtime, or of the driver."""

    @property
    def imports(self) -> Sequence[Edit]:
        """The edits without which the code that was written so far has no names."""

    def function(self, name: str) -> str:
        """Return how a function of the API is named."""

    def call(self, api: str, *arguments: str) -> Code:
        """Return a call that gives a status only."""

    def new_event(self, event: str) -> Iterator[Code]:
        """Yield the ways to make an event under a new name, the likeliest first."""

    def enclosed(self, code: Code) -> Code:
        """Return code that declares something, so that this is known to it only."""


class Language(ABC, Generic[P]):
    """A program's text in one language, with what its trace says of it.

    A place is one of the chain of calls that leads to an operation: the call of the API, the helper around it, the
    helper's caller. An edit goes where the names that it needs are visible, as near to the operation as possible.
    """

    NAMES_ALL_STREAMS = False
    """whether code at one place can name each of several streams that it waits for"""

    files: Mapping[str, SourceText]
    """the texts, by the names that the edits have"""
    layout: Layout[P]
    """what makes edits of the texts"""
    reasons: list[str]
    """why steps could not be written, in clauses, so far"""

    @abstractmethod
    def api(self, operation: Operation) -> str:
        """Return the name of the function that issued an operation."""

    # -- places ---------------------------------------------------------------------------------

    @abstractmethod
    def places(self, site: int) -> list[P]:
        """Return the places of the chain of calls that ends at a site, the innermost first."""

    @abstractmethod
    def places_before(self, later: Operation, earlier: Operation) -> Iterator[tuple[P, bool]]:
        """Yield where code may stand that waits for one operation before another; and whether it goes behind that."""

    @abstractmethod
    def places_behind(self, earlier: Operation) -> Iterator[P]:
        """Yield behind what code may stand that comes behind an operation."""

    def around_both(self, first: P, second: P, every: Sequence[P], several: bool) -> Iterator[tuple[P, P]]:
        """Yield, for blocks around two places, the first and the last statement that holds any of some places.

        The blocks are those that an event may be declared in that is recorded at the first place. `several`: it is for
        the work of several streams, of which an event of a block around a loop would hold the last one's alone.
        """
        yield from ()

    @abstractmethod
    def unit(self, block: Node | None, statement: Node) -> Sequence[Node]:
        """Return a statement of a block with the one behind it that looks at its status."""

    # -- names ----------------------------------------------------------------------------------

    @abstractmethod
    def streams(
        self, earlier: Operation, later: Operation, place: P, near: Operation, of: Operation
    ) -> Sequence[Sequence[str]]:
        """Return how the streams of one of two operations are written at a place of the chain of `near`.

        For each stream that code there has to name: its names, the best first.
        """

    @abstractmethod
    def stream(self, operation: Operation, place: P, near: Operation) -> Sequence[str]:
        """Return how the stream of one operation is written at a place of the chain of `near`."""

    @abstractmethod
    def event(self, step: WaitForRecorded, place: P) -> Sequence[str]:
        """Return how the event that the program records is written at a place before the later operation."""

    @abstractmethod
    def stream_arguments(self, operation: Operation) -> Iterator[Argument]:
        """Yield how the stream of an operation is written, at each level of its chain of calls."""

    @abstractmethod
    def sole_argument(self, place: P) -> str:
        """Return the one argument of the call at a place, "" where it has more."""

    @abstractmethod
    def phrases(self, place: P, near: Operation, *operations: Operation) -> Phrases:
        """Return how calls are written at a place of the chain of `near`, for code that is about operations."""

    # -- commands with wait lists ---------------------------------------------------------------

    def event_of_command(self, command: Operation, place: P) -> Sequence[str]:
        """Return how the event that a command returns is written at a place of another one."""
        return ()

    def in_wait_list(self, place: P, event: str) -> Iterator[Sequence[Edit]]:
        """Yield the ways to put an event into the wait list of the command at a place."""
        yield from ()

    def returning_event(self, place: P, event: str) -> Sequence[Edit]:
        """Return the edits that make the command at a place return its event in a variable, none if it does already."""
        return ()

    def new_event(self, place: P, event: str) -> tuple[str, str]:
        """Return what declares a variable for the event of the command at a place, and what releases it, "" nothing."""
        return f"cl_event {event};", "clReleaseEvent"

    def blocking(self, place: P) -> Sequence[Edit]:
        """Return the edits that make the call at a place return when its command is done, none where it cannot."""
        return ()

    def name_in_block(self, wanted: str) -> str:
        """Return a name for what is declared in a block of its own, where it may hide another one."""
        return wanted

    def new_name(self, wanted: str, place: P) -> str:
        """Return a name that means nothing else around a place."""
        return wanted

    # -- what may be moved, or taken out --------------------------------------------------------

    @abstractmethod
    def groups(self, place: P, what: Operation, kinds: Collection[int]) -> Iterator[Group]:
        """Yield what may be moved for the call at a place: helpers do nothing but operations of these kinds."""

    def does_only(self, operation: Operation, place: P, kinds: Collection[int]) -> bool:
        """Tell whether all that is done below a place of an operation's chain of calls is of some kinds."""
        return True

    def hidden_name(self, group: Group, place: P) -> str:
        """Return a name of what is moved that is not visible behind a place's statement, "" where all are."""
        return ""

    def in_the_way(self, group: Group, place: P, block: Node, target: Node) -> str:
        """Return why a group may not come behind a statement of a block: what else would come later; "" if it may."""
        return ""

    def scope_end(self, place: P) -> str:
        """Return what ends at a place with a block, where destructors run, as a reason not to move it; else ""."""
        return ""

    @abstractmethod
    def keeps(self, place: P, is_called: bool) -> str:
        """Return why a wait at a place is not taken out, "" where it may be."""

    # -- graphs and kernels ---------------------------------------------------------------------

    @abstractmethod
    def dependent(self, first: P, second: P, step: EdgeBetween) -> Iterator[tuple[str, list[Edit]]]:
        """Yield the node of one place made to depend on that of another; with the name of the other."""

    @abstractmethod
    def kernel_wait(self, file: str) -> KernelText:
        """Return what waits, at the start of a kernel in a file, for the kernel before it."""


AnyLanguage = Language[Any]
