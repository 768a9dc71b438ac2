"""Through which words of the parameters a kernel reaches textures and surfaces: an analysis like that of pointers.

The object's number is a word of the parameters, and instructions take the lower half of it. So that half is followed,
by the rules by which the upper halves of addresses are.
"""

from __future__ import annotations

from streamsan.machine_code.image_instructions import IMAGE_ACCESSES, image_handle
from streamsan.machine_code.instruction_operands import Constant, Register
from streamsan.machine_code.instructions import Step
from streamsan.machine_code.pointer_flow import FOUND, OWN, PointerFlow, Registers


class HandleFlow(PointerFlow):
    """The analysis of one kernel: `places` has which words each access of an image may go by, FOUND for memory."""

    def accesses(self) -> dict[int, tuple[int, ...]]:
        """Index of each access of an image -> the words, by their offset, that it may go by."""
        return {
            at: tuple(name for name in self.named(origins) if isinstance(name, int))
            for at, origins in self.places.items()
        }

    @property
    def any_found(self) -> bool:
        """Whether some image is reached by a number of which nobody knows where it comes from."""
        return any(not origins or origins & (FOUND | OWN) for origins in self.places.values())

    def one_of_many(self, word: int) -> bool:
        """Whether no access goes by this word alone."""
        return all(set(self.named(origins)) != {word} for origins in self.places.values())

    def _step(self, step: Step, registers: Registers) -> None:
        if step.name in IMAGE_ACCESSES:
            handle = image_handle(step.operands)
            known = isinstance(handle, (Register, Constant))
            self.places[self._at] = self._origins(handle, registers) if known else 0
        super()._step(step, registers)

    def _parameter_half(self, offset: int) -> int:
        word = offset - self.layout.base
        return self.origin(word) if any(word in parameter.words for parameter in self.layout.parameters) else 0

    def _bases(self, address: object, registers: Registers) -> int:
        # What lies in memory is not followed: its address is the other analysis' matter.
        return FOUND
