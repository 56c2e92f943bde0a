"""The tensors of a module as numbered values: IR, type, sharding and size of each.

Not here: which op makes which (`collect.py`), what they are called (`report.py`).
"""

from __future__ import annotations

from typing import Any, NamedTuple, cast

from xdsl.dialects.builtin import ModuleOp, TensorType, TupleType
from xdsl.ir import Attribute, Operation, OpResult, SSAValue

from shardy_py.errors import Diagnostic, ShardyError
from shardy_py.graph.sharding_reader import ShardingReader
from shardy_py.ops import record
from shardy_py.report.collect import module_meshes
from shardy_py.report.memory.sizes import Bytes, Target, TensorSize, tensor_size
from shardy_py.sharding import TensorSharding
from shardy_py.text.source import position_of

_NOTHING = TensorSize((), Bytes())


class FunctionResult(NamedTuple):
    """What a function returns, where that is an array of its own."""

    function: Operation
    position: int


class Tensor(NamedTuple):
    """One value. What is no tensor (a token) has no bytes; a tuple has those of its elements.

    is_copy: whether it is a copy that becomes `value`.
    """

    value: SSAValue | FunctionResult
    type: Attribute
    sharding: TensorSharding | None
    size: TensorSize
    is_copy: bool = False


class Tensors:
    """The tensors found so far, numbered from 0, and the numbers of SSA values by identity."""

    def __init__(self, module: ModuleOp, target: Target) -> None:
        self.found: list[Tensor] = []
        self.padded_bytes: list[int] = []
        self.numbers: dict[int, int] = {}
        self._meshes = module_meshes(module)
        self._target: Target = target
        self._reader = ShardingReader()
        self._sizes: dict[tuple[int, int], tuple[TensorSize, object]] = {}

    def add(self, value: SSAValue | FunctionResult, type_: Attribute, sharding: TensorSharding | None) -> int:
        """A new value.

        Raises:
            ShardyError: the sharding does not fit the type, or there is no mesh of its name.
        """
        known = self._sizes.get((id(type_), id(sharding)))
        if known is None:
            size = self._measure(value, type_, sharding)
            known = self._sizes[(id(type_), id(sharding))] = (size, (type_, sharding))
        self.found.append(Tensor(value, type_, sharding, known[0]))
        self.padded_bytes.append(known[0].bytes.padded_bytes)
        return len(self.found) - 1

    def define(self, value: SSAValue) -> int:
        """An SSA value as a new value."""
        number = self.numbers[id(value)] = self.add(value, value.type, self._reader.of(value))
        return number

    def copy(self, number: int) -> int:
        """A copy that becomes the value `number`."""
        self.found.append(self.found[number]._replace(is_copy=True))
        self.padded_bytes.append(self.padded_bytes[number])
        return len(self.found) - 1

    def have_same_size(self, first: int, second: int) -> bool:
        """Whether one can be in the place of the other."""
        return self.padded_bytes[first] == self.padded_bytes[second]

    def is_same_array(self, value: int, renamed: int) -> bool:
        """Whether devices hold the same parts of a value under its new name; without a sharding they do."""
        sharding = self.found[renamed].sharding
        return sharding is None or _axes(self.found[value].sharding) == _axes(sharding)

    def _measure(
        self, value: SSAValue | FunctionResult, type_: Attribute, sharding: TensorSharding | None
    ) -> TensorSize:
        if isinstance(type_, TupleType):
            parts = [self._measure(value, part, None) for part in type_.types.data]
            problem = next((part.problem for part in parts if part.problem), "")
            return TensorSize((), sum((part.bytes for part in parts), Bytes()), problem)
        if not isinstance(type_, TensorType):
            return _NOTHING
        tensor = bounded_tensor(cast("TensorType[Attribute]", type_))
        try:
            return tensor_size(tensor, sharding, self._meshes, self._target)
        except ShardyError as error:
            place = position_of(location_of(value))
            raise ShardyError(Diagnostic(error.diagnostics[0].message, place)) from error


def bounded_tensor(type_: TensorType[Attribute]) -> record.TensorType:
    """Shape and element of a type; of a dynamic dimension its bound, None where it has none."""
    encoding: Any = type_.encoding
    is_bounded = getattr(encoding, "name", "") == "stablehlo.bounds"
    shape = type_.get_shape()
    bounds = encoding.data if is_bounded else (None,) * len(shape)
    sizes = tuple(
        size if size >= 0 else bound if bound is not None and bound >= 0 else None
        for size, bound in zip(shape, bounds, strict=True)
    )
    return record.TensorType(sizes, str(type_.element_type))


def location_of(value: SSAValue | FunctionResult) -> Attribute:
    """Where the source says a value is made: that of its op, or its own; of the function for a result."""
    if isinstance(value, FunctionResult):
        return cast(Any, value.function).location
    return cast(Any, value.op if isinstance(value, OpResult) else value).location


def _axes(sharding: TensorSharding | None) -> tuple[object, ...]:
    """What cuts each dimension, () for none at all."""
    if sharding is None or sharding.is_fully_replicated:
        return ()
    return (*(dimension.axes for dimension in sharding.dimensions), sharding.mesh)
