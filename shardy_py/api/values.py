"""The values of a program, looked up by name, label, source location or op.

    program.values["%arg0"].shape
    program.values.of_op("stablehlo.dot_general")

Not here: how names are made (`mlir/value_table.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from typing import overload

from typing_extensions import override
from xdsl.dialects.builtin import ModuleOp

from shardy_py.api.arguments import expect
from shardy_py.api.remarks import say
from shardy_py.api.sharding import Sharding
from shardy_py.base.errors import ShardyError
from shardy_py.base.records import dataclass
from shardy_py.base.session import SESSION
from shardy_py.mlir.location_names import location_text
from shardy_py.mlir.plain import tensor_type
from shardy_py.mlir.symbols import Symbols
from shardy_py.mlir.text.attribute_writer import attribute_text
from shardy_py.mlir.value_classes import ValueClasses
from shardy_py.mlir.value_table import Role, ValueEntry, ValueTable
from shardy_py.sharding import Mesh, TensorSharding
from shardy_py.sharding.meshes import mesh_of


@SESSION.cache(4096)
def _sharding(mesh: Mesh, value: TensorSharding) -> Sharding:
    """Shared by values, which are many, while shardings are few."""
    return Sharding(mesh, value)


@dataclass(frozen=True, eq=False)
class Value:
    """One value: an argument or result of a function, or a result of an op.

    entry: the value in the module. meshes: those of the module, by symbol. _known: its shardings so far,
    by the identity of each as the IR has it, which is kept.
    """

    entry: ValueEntry
    meshes: Mapping[str, Mesh]
    _known: dict[int, tuple[TensorSharding, Sharding]] = field(
        default_factory=dict[int, tuple[TensorSharding, Sharding]], repr=False
    )

    @property
    def name(self) -> str:
        """The name that the program prints: `%3`, `%arg0`; `result 0` of a function."""
        return self.entry.name

    @property
    def file_name(self) -> str:
        """Its name in the file that the program was read from; "" if it has none."""
        return self.entry.file_name

    @property
    def label(self) -> str:
        """JAX's name of an argument or result; "" if there is none."""
        return self.entry.label

    @property
    def function(self) -> str:
        """The name of the function around it, without `@`."""
        return self.entry.function

    @property
    def role(self) -> Role:
        """ "argument" or "result" of a function, else "intermediate"."""
        return self.entry.role

    @property
    def op_name(self) -> str:
        """The name of its op; "func.func" for a function's arguments and results."""
        return self.entry.op.name

    @property
    def location(self) -> str:
        """Its location in the source: `file:line:column name`; "" if unknown."""
        return location_text(self.entry.location)

    @property
    def shape(self) -> tuple[int | None, ...] | None:
        """The global sizes, None for a dynamic one; None unless it is a ranked tensor."""
        tensor = tensor_type(self.entry.type)
        return None if tensor is None else tensor.shape

    @property
    def element_type(self) -> str | None:
        """The element type as in MLIR; None unless it is a ranked tensor."""
        tensor = tensor_type(self.entry.type)
        return None if tensor is None else tensor.element

    @cached_property
    def sharding(self) -> Sharding | None:
        """Its sharding; None if it has none."""
        value = self.entry.sharding
        if value is None:
            return None
        known = self._known.get(id(value))
        if known is None:
            known = self._known[id(value)] = value, _sharding(mesh_of(value, self.meshes), value)
        return known[1]

    @property
    def local_shape(self) -> tuple[int | None, ...] | None:
        """The shape on each device, padding included; None unless it is a ranked tensor."""
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

    def _repr_html_(self) -> str:
        from shardy_py.api.notebook import value_html

        return value_html(self)

    def __repr__(self) -> str:
        return f"<Value {self.entry} : {attribute_text(self.entry.type)}>"


class Values(Sequence[Value]):
    """All values of a module in program order."""

    def __init__(self, module: ModuleOp) -> None:
        """The module must not change while they are in use."""
        self.table = ValueTable(module)
        self._module = module
        self._shardings: dict[int, tuple[TensorSharding, Sharding]] = {}

    @cached_property
    def meshes(self) -> dict[str, Mesh]:
        """The meshes of the module by symbol."""
        return Symbols(self._module).meshes()

    @overload
    def __getitem__(self, index: int | str, /) -> Value: ...
    @overload
    def __getitem__(self, index: slice, /) -> list[Value]: ...
    def __getitem__(self, index: int | str | slice) -> Value | list[Value]:
        """Returns a value by position, or the one of that name, label or source location (`model.py:12`).

        Raises:
            ShardyError: no value, or more than one, has that name.
        """
        if isinstance(index, str):
            entry = self.table.find(index)
            if remark := self.table.other_meaning(index):
                say((remark.message,), remark.where.file if remark.where else "<program>")
            return self._wrap(entry)
        if isinstance(index, slice):
            return [*self._all[index]]
        if not isinstance(index, int):  # pyright: ignore[reportUnnecessaryIsInstance]
            expected = "the name, source location or number of a value"
            raise ShardyError.unexpected("", expected=expected, got=repr(index))
        if not -len(self) <= index < len(self):
            raise IndexError(f"expected a number below {len(self)}, the number of values, got {index}")
        return self._all[index]

    @override
    def __contains__(self, value: object) -> bool:
        """Returns whether it is one of the values, or the name of one."""
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
        return iter(self._all)

    def named(self, key: str) -> list[Value]:
        """Returns all values of that name, label or source location."""
        expect(key, str, "the name, label or source location of a value")
        return [self._wrap(entry) for entry in self.table.find_all(key)]

    def of_op(self, op_name: str) -> list[Value]:
        """Returns all results of ops of that name, with or without dialect (`dot_general`)."""
        expect(op_name, str, "the name of an op")
        return [self._wrap(entry) for entry in self.table.of_op(op_name)]

    def arguments(self, function: str | None = None) -> list[Value]:
        """Returns the arguments of a function; None: of @main, or of the only one.

        Raises:
            ShardyError: unknown function.
        """
        return self._of(function, "argument")

    def results(self, function: str | None = None) -> list[Value]:
        """Returns the results of a function, as `arguments`."""
        return self._of(function, "result")

    @cached_property
    def boundaries(self) -> tuple[Value, ...]:
        """The arguments and results of all functions, in program order."""
        return tuple(map(self._wrap, self.table.boundaries.values()))

    def counterpart(self, boundary: Value) -> Value | None:
        """Returns the argument or result of the same function and number; None if there is none."""
        entry = boundary.entry
        found = self.table.boundaries.get((entry.function, entry.role, entry.index))
        return None if found is None else self._wrap(found)

    def _of(self, function: str | None, role: Role) -> list[Value]:
        functions = self.table.functions
        if function is None:
            function = functions[0] if len(functions) == 1 else "main"
        expect(function, str, "the name of a function")
        function = function.removeprefix("@")
        if function not in functions:
            raise ShardyError.unknown("function", f"@{function}", [f"@{name}" for name in functions])
        return [value for value in self if value.role == role and value.function == function]

    def where(self, is_wanted: Callable[[Value], object]) -> Iterator[Value]:
        """Returns the values of which `is_wanted` holds, in program order: it is asked once for those alike.

        is_wanted: of the op's class and manual axes, the type, the sharding, the role and the index only.
        """
        return map(self._wrap, self._classes.where(lambda entry: is_wanted(self._wrap(entry))))

    @property
    def samples(self) -> Iterator[Value]:
        """One value of each class of ops, type, sharding, role and index."""
        return (self._wrap(each.first) for each in self._classes.each)

    @cached_property
    def _classes(self) -> ValueClasses:
        return ValueClasses(self.table.entries)

    @cached_property
    def _all(self) -> tuple[Value, ...]:
        """The same objects each time, which keep their shardings."""
        return tuple(map(self._wrap, self.table.entries))

    def _wrap(self, entry: ValueEntry) -> Value:
        return Value(entry, self.meshes, self._shardings)
