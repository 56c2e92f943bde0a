"""One op as verifiers read it: types as `Tensor`s, attributes and regions as plain values.

Not here: the op's place; its verifier runs once a signature.
"""

from __future__ import annotations

from functools import cached_property
from math import prod
from typing import Any

from xdsl.dialects.builtin import IntegerAttr, i1
from xdsl.ir import Attribute, Block, Operation, Region

from shardy_py.base.records import dataclass
from shardy_py.mlir.dialects.stablehlo.verify.messages import quoted, require
from shardy_py.mlir.dialects.stablehlo.verify.tensors import RankedTensor, read_tensor
from shardy_py.mlir.dialects.verification.declared import spread
from shardy_py.mlir.text.builtin_attributes import is_array, is_dense_integers, is_integers

_ANY = RankedTensor(())


_MOST_REPEATS = 1 << 20


@dataclass(frozen=True, slots=True)
class Dense:
    """A dense attribute of integers: its shape and all of its elements, row-major."""

    shape: tuple[int, ...]
    values: tuple[int, ...]

    @property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """The rows of an attribute of two columns."""
        return tuple(zip(self.values[::2], self.values[1::2], strict=False))


@dataclass(frozen=True, slots=True)
class BodyTypes:
    """The types of a region's arguments and returned values.

    returned: the types of its terminator's operands.
    """

    arguments: tuple[Attribute, ...]
    returned: tuple[Attribute, ...]


class View:
    """One op.

    operands, results: their types; types other than ranked tensors are scalars of unknown element.
    """

    def __init__(self, op: Operation) -> None:
        self.op = op
        self.operand_types: tuple[Attribute, ...] = tuple(value.type for value in op.operands)
        self.result_types: tuple[Attribute, ...] = tuple(value.type for value in op.results)

    @cached_property
    def operands(self) -> tuple[RankedTensor, ...]:
        """The types of the operands."""
        return tuple(read_tensor(type_) or _ANY for type_ in self.operand_types)

    @cached_property
    def results(self) -> tuple[RankedTensor, ...]:
        """The types of the results."""
        return tuple(read_tensor(type_) or _ANY for type_ in self.result_types)

    @property
    def is_ranked(self) -> bool:
        """Returns whether all types are ranked tensors."""
        return all(read_tensor(type_) is not None for type_ in (*self.operand_types, *self.result_types))

    def group(self, name: str) -> tuple[RankedTensor, ...]:
        """The operands of the slot `name` of the op's definition."""
        names = spread(self.op)
        return tuple(tensor for part, tensor in zip(names, self.operands, strict=False) if part == name)

    def integers(self, name: str) -> tuple[int, ...]:
        """A dense array of integers; empty if it is absent."""
        array = self.op.properties.get(name)
        return tuple(array.get_values()) if is_integers(array) else ()

    def integer(self, name: str, default: int = 0) -> int:
        """An integer attribute, `default` if it is absent."""
        attribute = self.op.properties.get(name)
        return attribute.value.data if isinstance(attribute, IntegerAttr) else default

    def flag(self, name: str) -> bool:
        """A boolean or unit attribute; false if it is absent."""
        attribute = self.op.properties.get(name)
        if isinstance(attribute, IntegerAttr):
            return bool(attribute.value.data)
        return attribute is not None

    def value(self, name: str) -> Any:
        """The value of an attribute of the dialect's own (a keyword, or a struct); None if it is absent."""
        return getattr(self.op.properties.get(name), "data", None)

    def list(self, name: str) -> tuple[Attribute, ...] | None:
        """The elements of an array attribute; None if it is absent."""
        array = self.op.properties.get(name)
        return tuple(array.data) if is_array(array) else None

    def dense(self, name: str) -> Dense | None:
        """A dense attribute of integers; None if it is absent or of another kind."""
        return dense_integers(self.op.properties.get(name))

    @cached_property
    def bodies(self) -> tuple[BodyTypes | None, ...]:
        """The regions; None for one without a block or an op."""
        return tuple(map(_body, self.op.regions))

    def body(self, index: int) -> BodyTypes:
        """A region; an empty one violates a rule."""
        types = self.bodies[index]
        require(types is not None, "expect non-empty region")
        assert types is not None
        return types

    def constant(self, index: int) -> tuple[int, ...] | None:
        """The elements of an operand that is a constant; None for any other."""
        owner = self.op.operands[index].owner
        if isinstance(owner, Block):
            return None
        value = owner.properties.get("value")
        dense = dense_integers(value) if owner.name in ("stablehlo.constant", "arith.constant") else None
        return None if dense is None else dense.values


def require_predicate(body: BodyTypes, single: str, scalar: str) -> None:
    """A body returns one i1; messages continue with the number of values and with the type."""
    require(len(body.returned) == 1, f"{single} {len(body.returned)}")
    require(read_tensor(body.returned[0]) == RankedTensor((), i1), f"{scalar} {quoted(body.returned[0])}")


def dense_integers(attribute: Attribute | None) -> Dense | None:
    """The integers of a dense attribute; None for any other attribute.

    A splat of so many elements that it must not be expanded violates a rule: lists of dimensions, pairs of
    them, and replica groups have no use for one.
    """
    if not is_dense_integers(attribute):
        return None
    shape, values = attribute.type.get_shape(), tuple(attribute.get_values())
    count = prod(shape)
    if len(values) == 1:
        require(
            count <= _MOST_REPEATS, f"expects at most {_MOST_REPEATS} elements, but got a splat of {count}"
        )
    return Dense(shape, values * count if len(values) == 1 != count else values)


def _body(region: Region) -> BodyTypes | None:
    block = region.first_block
    if block is None:
        return None
    last = block.last_op
    returned = tuple(value.type for value in last.operands) if last is not None else ()
    return BodyTypes(tuple(argument.type for argument in block.args), returned)


def tensor_of(type_: Attribute) -> RankedTensor:
    """A type that a rule assumes to be a ranked tensor."""
    return read_tensor(type_) or _ANY
