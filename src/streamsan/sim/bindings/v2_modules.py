"""`cuda.bindings._v2`: the functions of the other modules with plain numbers for handles, and exceptions for errors.

Everything is made from `cuda.bindings` by rule when it is first asked for. A function takes what `cuda.bindings` takes,
in the same order, and returns the outputs alone. Structures, and functions that need them or return lists, have shapes
of their own there: they are not simulated, and say so.
"""

from __future__ import annotations

import ctypes
import inspect
from collections.abc import Callable, Mapping
from enum import IntEnum
from types import ModuleType
from typing import Any, ClassVar

from streamsan.platforms.python_bindings import FunctionEntry, Item, catalogue
from streamsan.sim.bindings import nvrtc_functions, v2_names
from streamsan.sim.bindings.addresses import number_of
from streamsan.sim.bindings.attributes import is_counter
from streamsan.sim.bindings.class_index import find
from streamsan.sim.bindings.enums import enumeration
from streamsan.sim.bindings.function_index import bind, function, signature_of
from streamsan.sim.bindings.handle_classes import Opaque
from streamsan.sim.bindings.structure_classes import Structure
from streamsan.sim.executor.host_bytes import is_mapped
from streamsan.sim.not_simulated import NotSimulatedNameError

_PLACE = "cuda.bindings._v2"
_CONSTANTS = frozenset({"CUDA_EGL_INFINITE_TIMEOUT", "CUDA_VERSION", "CU_IPC_HANDLE_SIZE", "CU_TENSOR_MAP_NUM_QWORDS",
                        "CU_LAUNCH_KERNEL_REQUIRED_BLOCK_DIM", "MAX_PLANES"})  # fmt: skip
_MAY_BE_NULL = frozenset({"ctxCreateParams", "edgeData", "dependencyData"})
"""parameters for structures that programs without any leave at NULL"""
_OTHER_SHAPES = frozenset({"cuLinkComplete", "cuEGLStreamConsumerAcquireFrame", "nvrtcGetBundledHeadersInfo"})
"""functions whose arguments or results have another form than in `cuda.bindings`"""
_POOL = "cuMemPoolSetAttribute"
_BY_ADDRESS = frozenset({_POOL, "cuDeviceSetGraphMemAttribute"})
"""functions that take the address of a value after its attribute"""
_TEXTS = frozenset({"get_error_name", "get_error_string"})
"""functions that return `str`"""
_STATUSES = frozenset({"nvrtcGetPCHCreateStatus"})
"""functions whose status is what they are asked for"""


class StatusError(Exception):
    """An error of a call. `status` is its number."""

    texts: ClassVar[dict[int, str]]

    def __init__(self, status: int) -> None:
        """Make the error of a status."""
        self.status = int(status)
        super().__init__(self.texts.get(self.status, str(self.status)))

    def __reduce__(self) -> tuple[type[StatusError], tuple[int]]:
        """Make the error anew from its status in another process."""
        return type(self), (self.status,)


class SecondModule(ModuleType):
    """One of the two modules: what it holds is made when asked for.

    Names that programs do not know begin with `_`: others would be names of the module.
    """

    def __init__(self, name: str, base: str, results: dict[str, int], texts: dict[int, str]) -> None:
        """Take the name of the class of all errors, the members of `Result`, and the texts of errors."""
        super().__init__(f"{_PLACE}.{name}", f"`{_PLACE}.{name}` on the simulated device.")
        self._results = results
        self._base = self._error_class(base, StatusError, {"texts": texts})
        self._errors = {
            number: self._error_class(v2_names.exception_name(text), self._base, {})
            for text, number in results.items()
            if text.startswith("ERROR_")
        }

    def _error_class(self, name: str, above: type[StatusError], contents: dict[str, object]) -> type[StatusError]:
        return type(name, (above,), {"__module__": self.__name__, **contents})

    def _outputs(self, given: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return what comes after the status of a call, as plain values. Raises the error of the status."""
        status, *found = given
        if int(status):
            raise self._errors.get(int(status), self._base)(int(status))
        return tuple(_plain(one) for one in found)

    def _not_simulated(self, name: str) -> NotSimulatedNameError:
        """Return the error for something that the real module has."""
        return NotSimulatedNameError(f"{self.__name__}.{name}")

    def _enumeration(self, name: str, members: Mapping[str, int]) -> type[IntEnum]:
        """Return a new enumeration of the module."""
        return enumeration(self.__name__.removeprefix("cuda.bindings."), name, members, catalogue("driver").major)

    def _names(self) -> set[str]:
        """Return the names that the module has, without those that are not simulated."""
        return {"Result", self._base.__name__, *(kind.__name__ for kind in self._errors.values())}

    def _made(self, name: str) -> Any:
        """Return what a name means; None if nothing. Raises AttributeError for what is not simulated."""
        if name == "Result":
            return self._enumeration("Result", self._results)
        return next((kind for kind in (self._base, *self._errors.values()) if kind.__name__ == name), None)

    def __getattr__(self, name: str) -> Any:
        value = None if name.startswith("__") else self._made(name)
        if value is None:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return vars(self).setdefault(name, value)

    def __dir__(self) -> list[str]:
        return sorted({*(name for name in vars(self) if name.startswith("__")), *self._names()})


class DriverModule(SecondModule):
    """`cuda.bindings._v2.driver`."""

    def __init__(self) -> None:
        entries = self._entries = catalogue("driver")
        results = v2_names.shortened("Result", entries.enums["CUresult"])
        super().__init__("driver", "DriverError", results, {n: f"{text} ({n})" for text, n in results.items()})
        self._functions = v2_names.driver_functions(entries)
        self._enumerations = {
            found: name for name in entries.enums if (found := v2_names.enumeration_name(name)) is not None
        }
        self._structures = {v2_names.structure_key(name) for name in entries.structures}

    def _names(self) -> set[str]:
        """Return the names that the module has, without those that are not simulated."""
        functions = {name for name, api in self._functions.items() if _has_its_shape(self._entry(api))}
        return super()._names() | functions | self._enumerations.keys() | v2_names.CONSTANT_GROUPS.keys() | _CONSTANTS

    def _made(self, name: str) -> Any:
        """Return what a name means; None if nothing. Raises AttributeError for what is not simulated."""
        if name in self._functions:
            return self._function(name, self._entry(self._functions[name]))
        found = super()._made(name)
        if found is not None:
            return found
        if name in self._enumerations:
            return self._enumeration(name, v2_names.shortened(name, self._entries.enums[self._enumerations[name]]))
        if name in v2_names.CONSTANT_GROUPS:
            return self._enumeration(name, v2_names.grouped(name, self._entries.constants))
        if name in _CONSTANTS:
            return self._entries.constants[name]
        if v2_names.structure_key(name) in self._structures:
            raise self._not_simulated(name)
        return None

    def _entry(self, api: str) -> FunctionEntry:
        entry = self._entries.function(api)
        assert entry is not None
        return entry

    def _function(self, name: str, entry: FunctionEntry) -> Callable[..., Any]:
        if not _has_its_shape(entry):
            raise self._not_simulated(name)
        call: Any = function("driver", entry.name)
        c_names = {item.name for item in entry.c_parameters}
        parameters = tuple(
            Item(v2_names.parameter_name(item.name, c_names), item.word, item.default) for item in entry.parameters
        )
        shown = FunctionEntry(name, parameters, entry.returned, entry.c_parameters)

        def wrapper(*arguments: object, **named: object) -> Any:
            given = bind(shown, arguments, named)
            taken = [self._argument(name, item, one) for item, one in zip(parameters, given, strict=True)]
            if entry.name in _BY_ADDRESS:
                taken[2] = _value_at(taken[2], 8 if entry.name != _POOL or is_counter(taken[1]) else 4)
            found = self._outputs(call(*taken))
            return _alone(tuple(text.decode() for text in found) if name in _TEXTS else found)

        return _described(wrapper, self, name, signature_of(shown), entry.name)

    def _argument(self, name: str, item: Item, value: Any) -> object:
        """Return an argument as `cuda.bindings` takes it: NULL as None, handles in lists with their class."""
        if not item.word.startswith("list[") and not _is_structure(item):
            return value.encode() if isinstance(value, str) and item.word in ("char *", "char*", "bytes") else value
        if value is None or (isinstance(value, int) and value == 0):
            return None
        if isinstance(value, int) or _is_structure(item):
            raise self._not_simulated(f"{name}({item.name}={type(value).__name__})")
        kind = _kind(item)
        return [kind(one) for one in value] if kind is not None and issubclass(kind, Opaque) else list(value)


def _value_at(address: Any, size: int) -> object:
    """Return the number of 4 or 8 bytes at an address as `cuda.bindings` takes it. Raises ValueError."""
    place = number_of(address)
    if not is_mapped(place, size):
        raise ValueError(f"value={place:#x}: there is no memory at this address")
    kind: Any = find("driver", "cuuint64_t")
    return kind(int.from_bytes(ctypes.string_at(place, size), "little"))


def _kind(item: Item) -> Any:
    word = item.word.removesuffix("?").removeprefix("list[").removesuffix("]")
    return find("driver", word) if word != "Any" else None


def _is_structure(item: Item) -> bool:
    kind = _kind(item)
    return kind is not None and issubclass(kind, Structure)


def _has_its_shape(entry: FunctionEntry) -> bool:
    """Tell whether a function takes and returns the same here: no structures, and no lists as results."""
    needed = [item for item in entry.parameters if item.name not in _MAY_BE_NULL]
    if entry.name in _OTHER_SHAPES or any(item.word.startswith("list[") for item in entry.returned):
        return False
    return not any(_is_structure(item) for item in (*needed, *entry.returned))


class CompilerModule(SecondModule):
    """`cuda.bindings._v2.nvrtc`."""

    def __init__(self) -> None:
        members = {member.name: int(member) for member in nvrtc_functions.nvrtcResult}
        texts = {number: name for name, number in members.items()}
        super().__init__("nvrtc", "NvrtcError", v2_names.shortened("Result", members), texts)
        self._functions = {
            v2_names.function_name(name): name
            for name, value in vars(nvrtc_functions).items()
            if name.startswith("nvrtc") and inspect.isfunction(value)
        }

    def _names(self) -> set[str]:
        """Return the names that the module has, without those that are not simulated."""
        functions = {name for name, api in self._functions.items() if api not in _OTHER_SHAPES}
        return super()._names() | functions | {"InstallHeadersFlag"}

    def _made(self, name: str) -> Any:
        """Return what a name means; None if nothing. Raises AttributeError for what is not simulated."""
        if name == "InstallHeadersFlag":
            prefix = "NVRTC_INSTALL_HEADERS_"
            given = vars(nvrtc_functions).items()
            return self._enumeration(name, {key.removeprefix(prefix): v for key, v in given if key.startswith(prefix)})
        api = self._functions.get(name)
        if api in _OTHER_SHAPES or v2_names.structure_key(name) == "bundledheadersinfo":
            raise self._not_simulated(name)
        return super()._made(name) if api is None else self._function(name, api)

    def _function(self, name: str, api: str) -> Callable[..., Any]:
        call = getattr(nvrtc_functions, api)
        size = getattr(nvrtc_functions, f"{api}Size", None)
        given = list(inspect.signature(call).parameters)
        taken = given[:1] if size is not None else [one for one in given if not one.startswith("num")]
        # What a count stands before are lists, which need not be given.
        lists = {one for one in taken if any(other.startswith("num") for other in given[: given.index(one)])}
        signature = inspect.Signature([_parameter(one, one in lists) for one in taken])

        def wrapper(*arguments: object, **named: object) -> Any:
            bound = signature.bind(*arguments, **named)
            bound.apply_defaults()
            values = dict(zip(taken, bound.args, strict=True))
            if size is not None:
                buffer = bytearray(*self._outputs(size(*values.values())))
                self._outputs(call(*values.values(), buffer))
                return bytes(buffer)
            count = len(next((values[one] for one in taken if one in lists), None) or ())
            answer = call(*(count if one.startswith("num") else values[one] for one in given))
            if api in _STATUSES:
                return int(answer[0])
            found = self._outputs(answer)
            return _alone(tuple(text.decode() for text in found) if name in _TEXTS else found)

        return _described(wrapper, self, name, signature, api)


def _parameter(name: str, may_be_left_out: bool) -> inspect.Parameter:
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    default = None if may_be_left_out else inspect.Parameter.empty
    return inspect.Parameter(v2_names.parameter_name(name), kind, default=default)


def _alone(found: tuple[Any, ...]) -> Any:
    return found[0] if len(found) == 1 else found or None


def _plain(value: Any) -> Any:
    """Return a result without its class. An address keeps the allocation that it belongs to."""
    if isinstance(value, Opaque):
        return value._number
    return int(value) if isinstance(value, IntEnum) else value


def _described(
    wrapper: Callable[..., Any], module: ModuleType, name: str, signature: inspect.Signature, api: str
) -> Callable[..., Any]:
    wrapper.__name__ = wrapper.__qualname__ = name
    wrapper.__module__ = module.__name__
    wrapper.__doc__ = f"{name}{signature}: {api}, simulated by streamsan."
    wrapper.__signature__ = signature  # type: ignore[attr-defined]
    return wrapper


driver, nvrtc = DriverModule(), CompilerModule()
