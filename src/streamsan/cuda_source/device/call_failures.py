"""Calls that fail on a path, and whether the program looks at their status.

A status counts as looked at unless it surely is not: a statement that throws it away, a variable that is never read
again. The trace says both: a call that asks (`ASKS`) after a failure that was looked at, and a CALL with the detail
UNREAD, at the place and with the status of the failure, once the program has gone on to other work or come to its end
without asking for the error in any other way.
"""

from __future__ import annotations

from msgspec import Struct

from streamsan.cuda_source import known_apis
from streamsan.cuda_source.machine import Machine
from streamsan.cuda_source.program.unread import address_of, never_read, only_in
from streamsan.cuda_source.values.cells import Status, Value
from streamsan.cuda_syntax.tree import Assign, Call, ExpressionStatement, Name, Statement, Variable
from streamsan.cuda_syntax.walk import nodes
from streamsan.effects import Api, Effect
from streamsan.model.statuses import GRAPH_EXEC_UPDATE_FAILURE
from streamsan.patterns.late_pattern import late_pattern
from streamsan.platforms import CUDA
from streamsan.vocabulary import CallClass, OperationKind

ASKS = "cudaPeekAtLastError"
"""Stands in the trace for a look at a status."""
_ASKING = late_pattern("cuda(GetLastError|PeekAtLastError)")
_AN_ANSWER = late_pattern(
    "Query|Get|CanAccess|Can[A-Z]|Is[A-Z]|Peek|Choose|Check|Supported|Destroy|Unload|Release|Free|Unregister|Disable"
)
"""In the names of calls whose failure is an answer, or that undo something: other rules speak of those."""
_ANSWERS = (CUDA.status.answers - CUDA.status.of_other_code) | CUDA.status.of_capture
"""Not supported, not ready, done already; what breaks a capture is said by SS302."""


class Failure(Struct, frozen=True):
    """A call that failed."""

    status: Status
    site: int
    api: Api
    node: Call
    conditional: bool


class Failures:
    """The failures of one path that nobody is known to have looked at."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self._latest: Failure | None = None
        """while nobody knows whether the program looks at it"""
        self._unread: list[Failure] = []

    def made(self, status: Status, site: int, api: Api, node: Call) -> None:
        """A call has failed."""
        self._latest = Failure(status, site, api, node, self.machine.device.thread.conditional)

    def discarded(self, value: Value) -> None:
        """A statement ends, and nothing takes the value of its expression."""
        if self._latest is not None and value is self._latest.status:
            self._drop(self._latest)

    def stored(self, statement: Statement) -> None:
        """A statement ends; one that stored the status in a variable that nobody reads threw it away."""
        failure = self._latest
        if failure is None:
            return
        if isinstance(statement, Variable):
            name, value = statement.name, statement.initializer
        elif isinstance(statement, ExpressionStatement) and isinstance(statement.expression, Assign):
            assigned = statement.expression
            if assigned.operator != "=" or not isinstance(assigned.target, Name):
                return
            name, value = assigned.target.name, assigned.value
        else:
            return
        machine = self.machine
        if value is failure.node and never_read(machine.frame.declaration, statement, name, machine.program.macros):
            self._drop(failure)

    def _drop(self, failure: Failure) -> None:
        self._latest = None
        if failure.status in _ANSWERS or _AN_ANSWER.search(failure.api.name):
            return
        if failure.status == GRAPH_EXEC_UPDATE_FAILURE and not self._result_unread(failure):
            return
        self._unread.append(failure)

    def _result_unread(self, failure: Failure) -> bool:
        """An update of an executable graph also says by its other results whether it failed."""
        function = self.machine.frame.declaration
        if function is None or function.body is None:
            return False
        updates = [
            node
            for node in nodes(function.body)
            if isinstance(node, Call) and isinstance(node.callee, Name) and "GraphExecUpdate" in node.callee.name
        ]
        results = failure.node.arguments[2:]
        names = [address_of(result) for result in results if not _is_null(result)]
        return all(name and only_in(function, name, updates, self.machine.program.macros) for name in names)

    def asked(self) -> None:
        """The program may have asked for the error of earlier calls."""
        self._unread.clear()

    def go_on(self) -> None:
        """The program goes on to a next call; a status that a statement did not throw away has been looked at."""
        if self._latest is not None:
            site = self._latest.site
            self._latest = None
            self._unread.clear()
            self.machine.device.model.core.emit(OperationKind.CALL, self.machine.device.thread, site, ASKS)

    def calls(self, api: Api) -> None:
        """The program makes a call: it asks for errors, or goes on to work that builds on the earlier calls."""
        if _ASKING.match(api.name):
            self.asked()
        elif api.effect is Effect.GRAPH_INSTANTIATE:
            # The executable graph is made anew, whether the update succeeded or not.
            self._unread = [failure for failure in self._unread if failure.status != GRAPH_EXEC_UPDATE_FAILURE]
        elif api.effect in known_apis.WORK:
            self.say_unread()

    def say_unread(self) -> None:
        """Say which failures nobody has looked at."""
        unread, self._unread = self._unread, []
        thread = self.machine.device.thread
        conditional = thread.conditional
        for failure in unread:
            thread.conditional = conditional or failure.conditional
            self.machine.device.model.core.emit(
                OperationKind.CALL,
                thread,
                failure.site,
                failure.api.name,
                detail=CallClass.UNREAD,
                status=failure.status,
            )
        thread.conditional = conditional


def _is_null(expression: object) -> bool:
    value = getattr(expression, "value", 1)
    return value is None or (type(value) is int and value == 0)
