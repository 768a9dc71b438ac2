"""Memory that processes share: what this one has exported, and what it has opened."""

from __future__ import annotations

import threading
from collections import Counter
from contextlib import suppress

from msgspec import Struct, field

from streamsan.model.statuses import INVALID_HANDLE, INVALID_VALUE, MAP_FAILED, SUCCESS
from streamsan.sim.exchange.connections import SilentError
from streamsan.sim.exchange.link import Link
from streamsan.sim.exchange.messages import Operation, Reply, Request
from streamsan.sim.exchange.service import Answer, Connection
from streamsan.sim.exchange.shared_pages import PageFile, Window
from streamsan.sim.executor.regions import Region
from streamsan.sim.executor.simulated_memory import Block


class Offer(Struct, eq=False):
    """A block that others may open."""

    block: Block
    identity: int
    file: int
    offset: int
    size: int
    opens: Counter[Connection] = field(default_factory=Counter)
    """who has it open, and how often"""


class Import(Struct, frozen=True):
    """Memory of another process that is open here."""

    window: Window
    size: int
    exporter: bytes
    identity: int


class SharedMemory:
    """Called under the session's lock, but for the `answer_` methods, which the service's thread calls."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._guard = threading.Lock()
        self._files: dict[Region, PageFile] = {}
        self._offers: dict[int, Offer] = {}
        self._by_block: dict[Block, Offer] = {}
        self._withheld: list[Offer] = []
        self._imports: dict[Block, Import] = {}
        self._spare: list[Region] = []

    # -- exporting --------------------------------------------------------------------------------
    def offer(self, block: Block, size: int, identity: int) -> bool:
        """Let others open a block; return whether that is possible."""
        if block in self._by_block:
            return True
        if not isinstance(block.region, Region) or not self._link.start():
            return False
        try:
            file = self._files.get(block.region)
            if file is None:
                file = self._files[block.region] = PageFile(block.region)
            offset = file.share(block.start, block.extent)
        except OSError:
            return False
        offer = Offer(block, identity, file.file, offset, size)
        with self._guard:
            self._offers[identity] = self._by_block[block] = offer
        return True

    def offered(self) -> list[Block]:
        """Return the blocks that others may open."""
        return list(self._by_block)

    def withdraw(self, block: Block) -> None:
        """A block is freed: nobody can open it from here on."""
        offer = self._by_block.get(block)
        if offer is not None:
            with self._guard:
                del self._offers[offer.identity], self._by_block[block]

    def withhold(self, block: Block) -> bool:
        """Withdraw a block; return whether others still have it, so that its bytes are theirs until `returned`."""
        offer = self._by_block.get(block)
        self.withdraw(block)
        if offer is None:
            return False
        with self._guard:
            if offer.opens:
                self._withheld.append(offer)
            return bool(offer.opens)

    def returned(self) -> list[Block]:
        """Return, once, the blocks withheld that nobody has any more."""
        if not self._withheld:
            return []
        with self._guard:
            found = [offer.block for offer in self._withheld if not offer.opens]
            self._withheld = [offer for offer in self._withheld if offer.opens]
        return found

    # -- importing --------------------------------------------------------------------------------
    def open(self, exporter: bytes, identity: int) -> Import | int:
        """Open what another process has exported; the status if that fails. Its end is another one than a free's."""

        def take(reply: Reply, files: list[int]) -> Import | int:
            if not files or not reply.size:
                return MAP_FAILED
            window = Window(files[0], reply.offset, reply.size, self._spare)
            return Import(window, reply.size, exporter, identity)

        return self._link.take(exporter, Operation.OPEN_MEMORY, identity, take, if_ended=INVALID_HANDLE)

    def placed(self, block: Block, opened: Import) -> None:
        """What was opened is this block."""
        self._imports[block] = opened

    def close_import(self, block: Block) -> bool:
        """Close a block that was opened; False if it was none."""
        known = self._imports.pop(block, None)
        if known is None:
            return False
        known.window.close(self._spare)
        # Answered, so that the exporter knows it before it can hear of it otherwise.
        with suppress(SilentError):
            self._link.peers.ask(known.exporter, Request(Operation.CLOSE_MEMORY, self._link.token, known.identity))
        return True

    def exporters(self) -> set[bytes]:
        """Return the processes whose memory is open here."""
        return {known.exporter for known in self._imports.values()}

    def has(self, block: Block) -> bool:
        """Return whether other processes may write a block."""
        return block in self._imports or block in self._by_block

    @property
    def is_shared(self) -> bool:
        """Whether there is anything that others might write."""
        return bool(self._by_block or self._imports)

    # -- answering --------------------------------------------------------------------------------
    def answer_open(self, connection: Connection, request: Request) -> Answer:
        """Another process opens memory."""
        with self._guard:
            offer = self._offers.get(request.identity)
            if offer is None:
                return Reply(INVALID_VALUE), -1
            offer.opens[connection] += 1
            return Reply(SUCCESS, 0, offer.offset, offer.size), offer.file

    def answer_close(self, connection: Connection, request: Request) -> Answer:
        """Another process has closed memory."""
        with self._guard:
            for offer in [*self._offers.values(), *self._withheld]:
                if offer.identity == request.identity and offer.opens[connection]:
                    offer.opens[connection] -= 1
                    offer.opens += Counter()  # those that are 0 go
                    break
        return Reply(SUCCESS), -1

    def answer_ended(self, connection: Connection) -> None:
        """Another process has ended."""
        with self._guard:
            for offer in [*self._offers.values(), *self._withheld]:
                offer.opens.pop(connection, None)

    # -- the end ----------------------------------------------------------------------------------
    def close(self) -> None:
        """Let go of all files, as a process that ends, or a forked child, does."""
        self._guard = threading.Lock()
        for file in self._files.values():
            file.close()
        self._files.clear()
        self._offers.clear()
        self._by_block.clear()
        self._withheld.clear()
