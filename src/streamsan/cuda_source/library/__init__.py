"""Models of the standard library and other libraries: the seam between the interpreter and what it cannot see.

A model never knows what a CUDA function means; it says what library code does with the interpreter's values. Which
names there are, and which model each has, stands in `tables/*.toml` (`tables.py` says how to read them): to add a
function, add its name to a row, or a row with a model.

**Functions.** A model is called as ``f(machine, operands, call, **row)`` and returns an `Operand` or a plain value.
`operands` are the evaluated arguments (`Operand.cell` where the argument is an lvalue);
``machine.expressions.load(operand, span)`` gives the value. `call` is the `CallSite`: its `span`, and the template
arguments as `CType`s or constants. `row` is what the table says besides the names; a family's model gets the `name`.

**Classes.** A model is a subclass of `modelled.Modelled`, which says how objects are made and used::

    class Vector(Modelled):
        @classmethod
        def construct(cls, machine, type, operands, span, cell, braced): ...   # -> LibraryObject
        @classmethod
        def unknown(cls, machine, type, name, origin): ...                     # from an unseen caller
        def call(self, machine, method, operands, span): ...                   # -> Operand | value | NOT_MODELLED
        def parts(self): ...        # what it owns or points to: destruction and reachability go through it
        def copy / move / destroy / truth / length

Operators arrive as methods named `operator[]`, `operator*`, `operator->`, `operator()`, `operator=`, `operator==`, ...
A method that returns NOT_MODELLED is treated as opaque: the arguments are as if given to unseen code.

A model imports `machine`, the interpreter's values and terms, and other models; `Machine` has the faces of all parts.
"""
