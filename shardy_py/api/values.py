"""The values of a program: looked up by name, label, source location or op.

    program.values["%arg0"].shape
    program.values.of_op("stablehlo.dot_general")

Not here: how names are made (`graph/value_table.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import overload

from typing_extensions import override
from xdsl.dialects.builtin import ModuleOp

from shardy_py.api.arguments import expect
from shardy_py.api.sharding import Sharding
from shardy_py.errors import ShardyError
from shardy_py.graph.holders import read
from shardy_py.graph.plain import tensor_type
from shardy_py.graph.symbols import Symbols
from shardy_py.graph.value_table import Role, ValueEntry, ValueTable, location_text
from shardy_py.sharding import Mesh, TensorSharding
from shardy_py.text.attribute_writer import attribute_text


@lru_cache(maxsize=4096)
def _sharding(mesh: Mesh, value: TensorSharding) -> Sharding:
    """A program has many values and few shardings."""
    return Sharding(mesh, value)


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """One value: an argument or result of a function, or what an op gives.

    entry: the value in the module. meshes: those of the module, by symbol.
    """

    entry: ValueEntry
    meshes: Mapping[str, Mesh]

    @property
    def name(self) -> str:
        """As the program prints it: `%3`, `%arg0`; of a function's result `result 0`."""
        return self.entry.name

    @property
    def label(self) -> str:
        """JAX's name of an argument or result; "" if there is none."""
        return self.entry.label

    @property
    def function(self) -> str:
        """The function around it, without `@`."""
        return self.entry.function

    @property
    def role(self) -> Role:
        """ "argument" or "result" of a function, else "intermediate"."""
        return self.entry.role

    @property
    def op_name(self) -> str:
        """The op that gives it; "func.func" for a function's arguments and results."""
        return self.entry.op.name

    @property
    def location(self) -> str:
        """Where the source says it is made: `file:line:column name`; "" if unknown."""
        return location_text(self.entry.location)

    @property
    def shape(self) -> tuple[int | None, ...] | None:
        """The global sizes, None for a dynamic one; None for what is no ranked tensor."""
        found = tensor_type(self.entry.type)
        return None if found is None else found.shape

    @property
    def element_type(self) -> str | None:
        """The element type as MLIR spells it; None for what is no ranked tensor."""
        found = tensor_type(self.entry.type)
        return None if found is None else found.element

    @property
    def sharding(self) -> Sharding | None:
        """Its sharding; None if nobody gave it one."""
        holder = self.entry.holder
        value = None if holder is None else read(holder)
        if value is None:
            return None
        mesh = value.mesh if isinstance(value.mesh, Mesh) else self.meshes.get(value.mesh)
        if mesh is None:
            raise ShardyError(f"sharding {value} of {self}: the program has no mesh @{value.mesh}")
        return _sharding(mesh, value)

    @property
    def local_shape(self) -> tuple[int | None, ...] | None:
        """What each device holds of it, padding included; None for what is no ranked tensor."""
        shape, sharding = self.shape, self.sharding
        if shape is None or sharding is None:
            return shape
        return sharding.local_shape(shape)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Value) and other.entry is self.entry

    def __hash__(self) -> int:
        return hash(self.entry)

    def __str__(self) -> str:
        return str(self.entry)

    def __repr__(self) -> str:
        return f"<Value {self.entry} : {attribute_text(self.entry.type)}>"


class Values(Sequence[Value]):
    """All values of a module in program order."""

    def __init__(self, module: ModuleOp) -> None:
        """The module must not change while they are in use."""
        self.table = ValueTable(module)
        self._module = module

    @cached_property
    def meshes(self) -> dict[str, Mesh]:
        """The meshes of the module by symbol."""
        return Symbols(self._module).meshes()

    @overload
    def __getitem__(self, index: int | str, /) -> Value: ...
    @overload
    def __getitem__(self, index: slice, /) -> list[Value]: ...
    def __getitem__(self, index: int | str | slice) -> Value | list[Value]:
        """By position, or the one value of that name, label or source location (`model.py:12`).

        Raises `ShardyError` when no value, or more than one, is called so.
        """
        if isinstance(index, str):
            return self._wrap(self.table.find(index))
        if isinstance(index, slice):
            return [self._wrap(entry) for entry in self.table.entries[index]]
        if not isinstance(index, int):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ShardyError(f"a value is looked up by its name, its place or its number, got: {index!r}")
        if not -len(self) <= index < len(self):
            raise IndexError(f"there are {len(self)} values; got number {index}")
        return self._wrap(self.table.entries[index])

    @override
    def __contains__(self, value: object) -> bool:
        """Whether that is one of the values, or what one goes by."""
        if not isinstance(value, Value):
            return isinstance(value, str) and bool(self.named(value))
        entry = value.entry
        if entry.value is None:
            return self._module.is_ancestor(entry.op)
        return id(entry.value) in self.table.by_value

    def __repr__(self) -> str:
        return f"<Values: {len(self)}>"

    def __len__(self) -> int:
        return len(self.table.entries)

    def __iter__(self) -> Iterator[Value]:
        return map(self._wrap, self.table.entries)

    def named(self, key: str) -> list[Value]:
        """All values of that name, label or source location; maybe none."""
        expect(key, str, "the name, label or source location of a value")
        return [self._wrap(entry) for entry in self.table.find_all(key)]

    def of_op(self, op_name: str) -> list[Value]:
        """All results of ops of that name, with its dialect or without (`dot_general`)."""
        entries = (entry for entry in self.table.entries if entry.role == "intermediate")
        return [
            self._wrap(entry)
            for entry in entries
            if op_name in (entry.op.name, entry.op.name.partition(".")[2])
        ]

    def arguments(self, function: str | None = None) -> list[Value]:
        """The arguments of a function; None: of @main, or of the only one.

        Raises `ShardyError` when there is no function of that name.
        """
        return self._of(function, "argument")

    def results(self, function: str | None = None) -> list[Value]:
        """The results of a function; None: of @main, or of the only one.

        Raises `ShardyError` when there is no function of that name.
        """
        return self._of(function, "result")

    def _of(self, function: str | None, role: Role) -> list[Value]:
        known = self.table.functions
        if function is None:
            function = known[0] if len(known) == 1 else "main"
        expect(function, str, "the name of a function")
        function = function.removeprefix("@")
        if function not in known:
            told = ", ".join(f"@{name}" for name in known) or "none"
            raise ShardyError(f"there is no function @{function}; there are: {told}")
        entries = self.table.entries
        return [self._wrap(e) for e in entries if e.role == role and e.function == function]

    def _wrap(self, entry: ValueEntry) -> Value:
        return Value(entry, self.meshes)
