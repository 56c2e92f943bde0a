"""The tensors of a program, numbered, each with the size that devices hold.

    tensors = Tensors(module, "linear")
    number = tensors.define(value)
    tensors.kinds[number].size

Not here: which ops make, read and update them (`collect.py`).
"""

from __future__ import annotations

from typing import NamedTuple, cast

from xdsl.dialects.builtin import ModuleOp, TensorType, TupleType
from xdsl.ir import Attribute, BlockArgument, Operation, OpResult, SSAValue

from shardy_py.base.errors import located
from shardy_py.hardware.tensor_bytes import Target, TensorBytes, TensorSize, tensor_size
from shardy_py.mlir.dialects.stablehlo.attributes import TypeExtensionsAttr
from shardy_py.mlir.holders import SHARDING
from shardy_py.mlir.ir import type_of
from shardy_py.mlir.symbols import Symbols
from shardy_py.mlir.text.source import position_of
from shardy_py.mlir.typed import of_kind
from shardy_py.mlir.value_shardings import ShardingReader
from shardy_py.ops import record
from shardy_py.sharding import TensorSharding

_NOTHING = TensorSize((), TensorBytes())


class FunctionResult(NamedTuple):
    """A result of a function, where it is an array of its own."""

    function: Operation
    position: int


class TensorKind(NamedTuple):
    """Facts of values of equal types and shardings. A token has no bytes; a tuple those of its elements."""

    type: Attribute
    sharding: TensorSharding | None
    size: TensorSize
    padded_bytes: int


class Tensors:
    """The tensors found so far, numbered from 0, and the numbers of SSA values by identity.

    values, kinds: of each. copies: the numbers of those that are copies which become their value.
    """

    def __init__(self, module: ModuleOp, target: Target) -> None:
        self.values: list[SSAValue | FunctionResult] = []
        self.kinds: list[TensorKind] = []
        self.copies: set[int] = set()
        self.numbers: dict[int, int] = {}
        self._meshes = Symbols(module).meshes()
        self._target: Target = target
        self._reader = ShardingReader()
        self._known: dict[tuple[int, int], TensorKind] = {}
        """By the identities of a type and a sharding, which the kind keeps."""
        self._results: dict[tuple[int, int], tuple[TensorKind, object]] = {}
        """Kinds of first results, by the identities of the type and of the attribute with the sharding."""

    def __len__(self) -> int:
        return len(self.values)

    def add(self, value: SSAValue | FunctionResult, type_: Attribute, sharding: TensorSharding | None) -> int:
        """Adds a value and returns its number.

        Raises:
            ShardyError: the sharding does not fit the type, or there is no mesh of its name.
        """
        kind = self._known.get((id(type_), id(sharding)))
        if kind is None:
            size = self._measure(value, type_, sharding)
            kind = TensorKind(type_, sharding, size, size.bytes.padded_bytes)
            self._known[id(type_), id(sharding)] = kind
        return self._add(value, kind)

    def _add(self, value: SSAValue | FunctionResult, kind: TensorKind) -> int:
        self.values.append(value)
        self.kinds.append(kind)
        return len(self.kinds) - 1

    def define(self, value: SSAValue) -> int:
        """Adds an SSA value and returns its number."""
        number = self.numbers[id(value)] = self.add(value, value.type, self._reader.of(value))
        return number

    def define_result(self, op: Operation, value: OpResult) -> int:
        """Adds the first result of an op that holds the shardings of its results; returns its number."""
        type_, given = type_of(value), op.attributes.get(SHARDING)
        known = self._results.get((id(type_), id(given)))
        if known is None:
            number = self.define(value)
            self._results[id(type_), id(given)] = self.kinds[number], given
            return number
        number = self.numbers[id(value)] = len(self.kinds)
        self.values.append(value)
        self.kinds.append(known[0])
        return number

    def copy(self, number: int) -> int:
        """Adds a copy that becomes the value `number`, and returns its number."""
        made = self._add(self.values[number], self.kinds[number])
        self.copies.add(made)
        return made

    def have_same_size(self, first: int, second: int) -> bool:
        """Returns whether one fits in the place of the other."""
        return self.kinds[first].padded_bytes == self.kinds[second].padded_bytes

    def is_same_array(self, value: int, renamed: int) -> bool:
        """Returns whether a value has the same shards under another name, or that has no sharding."""
        return is_same_array(self.kinds[value].sharding, self.kinds[renamed].sharding)

    def _measure(
        self, value: SSAValue | FunctionResult, type_: Attribute, sharding: TensorSharding | None
    ) -> TensorSize:
        if isinstance(type_, TupleType):
            parts = [self._measure(value, part, None) for part in type_.types.data]
            problem = next((part.problem for part in parts if part.problem), "")
            return TensorSize((), sum((part.bytes for part in parts), TensorBytes()), problem)
        if not isinstance(type_, TensorType):
            return _NOTHING
        tensor = bounded_tensor(cast("TensorType[Attribute]", type_))
        with located(position_of(location_of(value))):
            return tensor_size(tensor, sharding, self._meshes, self._target)


def bounded_tensor(type_: TensorType[Attribute]) -> record.TensorType:
    """Returns shape and element of a type, with the bounds of dynamic dimensions, None if unbounded."""
    encoding, shape = type_.encoding, type_.get_shape()
    bounds = encoding.data if isinstance(encoding, TypeExtensionsAttr) else (None,) * len(shape)
    sizes = tuple(
        size if size >= 0 else bound if bound is not None and bound >= 0 else None
        for size, bound in zip(shape, bounds, strict=True)
    )
    return record.TensorType(sizes, str(type_.element_type))


def location_of(value: SSAValue | FunctionResult) -> Attribute:
    """Returns the location of a value: of its op, of an argument itself, of the function for a result."""
    if isinstance(value, FunctionResult):
        return value.function.location
    return (value.op if isinstance(value, OpResult) else of_kind(value, BlockArgument)).location


def is_same_array(old: TensorSharding | None, new: TensorSharding | None) -> bool:
    """Returns whether a value has the same shards under a name with another sharding, or with none."""
    return new is None or _axes(old) == _axes(new)


def _axes(sharding: TensorSharding | None) -> tuple[object, ...]:
    """Returns the axes of each dimension, () if there are none at all."""
    if sharding is None or sharding.is_fully_replicated:
        return ()
    return (*(dimension.axes for dimension in sharding.dimensions), sharding.mesh)
