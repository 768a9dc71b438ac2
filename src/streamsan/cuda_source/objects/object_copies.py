"""Copies and moves of objects and arrays, member by member and element by element."""

from __future__ import annotations

from streamsan.cuda_source.objects.cell_storage import Storage
from streamsan.cuda_source.values.cells import ArrayObject, Cell, Operand, StructObject
from streamsan.cuda_source.values.classes import ClassInfo
from streamsan.cuda_syntax.tree import Function, Span


class Copies(Storage):
    """Copies the objects of one path."""

    def copy_constructor(self, cls: ClassInfo, moved: bool) -> Function | None:
        """Return the constructor that copies or moves an object, if the program wrote one."""
        best: Function | None = None
        for constructor in cls.methods.get("", []):
            if not constructor.parameters or any(p.default is None for p in constructor.parameters[1:]):
                continue
            type = constructor.parameters[0].type
            if type.pointers or not type.reference or type.name.rpartition("::")[2] != cls.name.rpartition("::")[2]:
                continue
            if constructor.deleted:
                continue
            if type.reference == "&&" and not moved:
                continue
            if best is None or type.reference == "&&":
                best = constructor
        return best

    def copy_members(self, target: StructObject, source: StructObject, moved: bool, span: Span) -> None:
        """Copy or move member by member, as a defaulted constructor does."""
        if source.cls is not None:
            for field, _ in self.all_fields(source.cls):
                self.field(source, field.name)
            moved = moved and self._moves(source.cls)
        if source.symbol is not None and not moved:
            target.symbol = source.symbol
        for name, cell in list(source.fields.items()):
            copy = Cell(None, cell.type, cell.name, target, span=cell.span)
            if self._is_reference_field(source, name):
                target.fields[name] = cell
                continue
            target.fields[name] = copy
            self.machine.objects.initialise(copy, cell.type, Operand(cell=cell, moved=moved), span)

    def _moves(self, cls: ClassInfo) -> bool:
        """Tell whether a class that is moved moves its members: one that declares a copy, and no move, copies them."""
        chosen = self.copy_constructor(cls, True)
        if chosen is not None:
            return chosen.parameters[0].type.reference == "&&"
        return True

    def _is_reference_field(self, object: StructObject, name: str) -> bool:
        lineage = object.cls.lineage() if object.cls is not None else ()
        named = (field for cls in lineage for field in cls.own_fields() if field.name == name)
        found = next(named, None)
        return found is not None and bool(found.type.reference)

    def copy_array(self, source: ArrayObject, moved: bool, span: Span) -> ArrayObject:
        """Copy an array, element by element as far as elements were touched."""
        target = ArrayObject(source.element, source.length, source.kind, source.label, source.span)
        target.origin, target.symbol, target.written = source.origin, source.symbol, source.written
        for key, cell in list(source.cells.items()):
            copy = Cell(None, cell.type, cell.name, target, cell.kind, cell.span)
            copy.key = key
            target.cells[key] = copy
            self.machine.objects.initialise(copy, cell.type, Operand(cell=cell, moved=moved), span)
        return target
