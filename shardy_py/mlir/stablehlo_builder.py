"""Inserts StableHLO ops into a program: attributes from Python values, types from shapes, nothing verified.

    build = StablehloBuilder(before=op)
    offset = build.binary("multiply", index, build.integer(4))
    part = build.dynamic_slice(value, [offset], [4])

Passes that replace ops by others share it; users build programs with `shardy_py.frontends.builder`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from typing_extensions import TypeIs
from xdsl.dialects.builtin import IntegerType, i1, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from shardy_py.base.deferred import np
from shardy_py.base.session import SESSION
from shardy_py.mlir import ir
from shardy_py.mlir.dialects.kinds import AttributeKind
from shardy_py.mlir.dialects.sdy import TensorShardingAttr, TensorShardingPerValueAttr
from shardy_py.mlir.dialects.stablehlo import OPS
from shardy_py.mlir.movements import note_inserted
from shardy_py.mlir.plain import tensor_type
from shardy_py.mlir.text.dense import element_size, make_dense
from shardy_py.mlir.text.type_reader import ranked_tensor
from shardy_py.mlir.value_shardings import set_value_shardings
from shardy_py.ops import TABLE
from shardy_py.sharding import TensorSharding

if TYPE_CHECKING:
    from numpy.typing import NDArray

Value = SSAValue
Sizes = Sequence[int]


def shape_of(value: Value) -> tuple[int, ...]:
    """The shape of a tensor with static sizes."""
    tensor = tensor_type(value.type)
    assert tensor is not None
    assert None not in tensor.shape
    return tuple(size or 0 for size in tensor.shape)


def element_of(value: Value) -> Attribute:
    """The element type of a tensor."""
    element: Attribute = value.type.element_type  # pyright: ignore
    return element  # pyright: ignore[reportUnknownVariableType]


def resized(value: Value, shape: Sizes) -> Attribute:
    """The type of `value` with another shape."""
    return ranked_tensor(tuple(shape), element_of(value))


class StablehloBuilder:
    """Inserts ops before an op, at its location.

    sharding: assigned to results whose rank it has, None for programs without shardings.
    """

    def __init__(
        self, before: Operation, sharding: TensorSharding | None = None, location: Attribute | None = None
    ) -> None:
        self.anchor = before
        self.sharding = sharding
        self.location = before.location if location is None else location

    def insert(
        self,
        name: str,
        operands: Sequence[Value],
        types: Sequence[Attribute],
        regions: Sequence[Region] = (),
        **attributes: object,
    ) -> Operation:
        """Inserts `stablehlo.<name>` with those result types; attributes are Python values, None: absent."""
        properties = encoded(name, **attributes)
        op_class = OPS.op_class(name)
        op = ir.build_operation(op_class, operands, types, properties, {}, self.location, None, regions)
        ir.place_before(op, self.anchor)
        if TABLE[op.name].collective is not None:
            note_inserted(op)
        if self.sharding is not None:
            tensors = ((result, tensor_type(result.type)) for result in op.results)
            set_value_shardings(
                (result, self.sharding)
                for result, tensor in tensors
                if tensor is not None and len(tensor.shape) == self.sharding.rank
            )
        return op

    def one(self, name: str, operands: Sequence[Value], type_: Attribute, **attributes: Any) -> Value:
        """The result of an op with one result."""
        return self.insert(name, operands, (type_,), **attributes).results[0]

    # ------------------------------------------------------------------ constants

    def dense(self, type_: Attribute, data: bytes) -> Value:
        """A constant: the bytes of one element (a splat), or of all."""
        return self.one("constant", (), type_, value=make_dense(type_, data))

    def integer(self, value: int, element: Attribute = i64) -> Value:
        """A scalar constant of an integer type."""
        data = value.to_bytes(element.width.data + 7 >> 3, "little", signed=value < 0)  # pyright: ignore
        return self.dense(ranked_tensor((), element), data)  # pyright: ignore[reportUnknownArgumentType]

    def zero(self, element: Attribute) -> Value:
        """A scalar constant of any element type, zero."""
        return self.dense(ranked_tensor((), element), bytes(element_size(element)))

    def integers(self, values: NDArray[np.int64] | Sequence[int], element: IntegerType = i64) -> Value:
        """A constant of an integer type with the shape of an array."""
        array = np.asarray(values, np.dtype(f"int{element.width.data}"))
        return self.dense(ranked_tensor(array.shape, element), array.tobytes())

    # ------------------------------------------------------------------ elementwise

    def unary(self, name: str, operand: Value) -> Value:
        """An elementwise op of one operand whose result has its type."""
        return self.one(name, (operand,), operand.type)

    def binary(self, name: str, lhs: Value, rhs: Value) -> Value:
        """An elementwise op of two operands of one type, whose result has it, too."""
        return self.one(name, (lhs, rhs), lhs.type)

    def convert(self, operand: Value, element: Attribute) -> Value:
        """`convert` to an element type; the operand itself if it has that."""
        if element_of(operand) == element:
            return operand
        return self.one("convert", (operand,), ranked_tensor(shape_of(operand), element))

    def compare(self, direction: str, lhs: Value, rhs: Value) -> Value:
        """`compare`, for example `"LT"`."""
        type_ = ranked_tensor(shape_of(lhs), i1)
        return self.one("compare", (lhs, rhs), type_, comparison_direction=direction)

    def select(self, predicate: Value, on_true: Value, on_false: Value) -> Value:
        """`select`."""
        return self.one("select", (predicate, on_true, on_false), on_true.type)

    # ------------------------------------------------------------------ movement

    def reshape(self, operand: Value, shape: Sizes) -> Value:
        """`reshape`."""
        return self.one("reshape", (operand,), resized(operand, shape))

    def transpose(self, operand: Value, permutation: Sizes) -> Value:
        """`transpose`."""
        sizes = shape_of(operand)
        type_ = resized(operand, [sizes[dim] for dim in permutation])
        return self.one("transpose", (operand,), type_, permutation=tuple(permutation))

    def broadcast(self, operand: Value, shape: Sizes, dimensions: Sizes = ()) -> Value:
        """`broadcast_in_dim`; without dimensions: of a scalar."""
        type_ = resized(operand, shape)
        return self.one("broadcast_in_dim", (operand,), type_, broadcast_dimensions=tuple(dimensions))

    def slice(self, operand: Value, starts: Sizes, limits: Sizes, strides: Sizes | None = None) -> Value:
        """`slice`."""
        steps = tuple(strides or (1,) * len(starts))
        sizes = [-(-(b - a) // s) for a, b, s in zip(starts, limits, steps, strict=True)]
        return self.one(
            "slice",
            (operand,),
            resized(operand, sizes),
            start_indices=tuple(starts),
            limit_indices=tuple(limits),
            strides=steps,
        )

    def dynamic_slice(self, operand: Value, starts: Sequence[Value], sizes: Sizes) -> Value:
        """`dynamic_slice`; one scalar start a dimension."""
        return self.one(
            "dynamic_slice", (operand, *starts), resized(operand, sizes), slice_sizes=tuple(sizes)
        )

    def pad(
        self, operand: Value, value: Value, low: Sizes, high: Sizes, interior: Sizes | None = None
    ) -> Value:
        """`pad` with a scalar."""
        inner = tuple(interior or (0,) * len(low))
        sizes = [
            a + b + size + max(size - 1, 0) * c
            for size, a, b, c in zip(shape_of(operand), low, high, inner, strict=True)
        ]
        return self.one(
            "pad",
            (operand, value),
            resized(operand, sizes),
            edge_padding_low=tuple(low),
            edge_padding_high=tuple(high),
            interior_padding=inner,
        )

    def concatenate(self, operands: Sequence[Value], dimension: int) -> Value:
        """`concatenate`; the operand itself if there is only one."""
        if len(operands) == 1:
            return operands[0]
        shape = list(shape_of(operands[0]))
        shape[dimension] = sum(shape_of(operand)[dimension] for operand in operands)
        return self.one("concatenate", operands, resized(operands[0], shape), dimension=dimension)

    def iota(self, shape: Sizes, dimension: int, element: Attribute) -> Value:
        """`iota`."""
        return self.one("iota", (), ranked_tensor(tuple(shape), element), iota_dimension=dimension)

    # ------------------------------------------------------------------ regions

    def combining_region(self, name: str, element: Attribute) -> Region:
        """The region of a reduction: `stablehlo.<name>` of two scalars."""
        scalar = ranked_tensor((), element)

        def body(inner: StablehloBuilder, arguments: Sequence[Value]) -> Sequence[Value]:
            return [inner.binary(name, *arguments)]

        return self.region((scalar, scalar), body)

    def region(
        self,
        types: Sequence[Attribute],
        body: Callable[[StablehloBuilder, Sequence[Value]], Sequence[Value]],
    ) -> Region:
        """A region of one block with arguments of those types, whose ops `body` inserts.

        body: called with a builder of the block and the arguments; returns the results of the region.
        """
        block = Block()
        arguments = ir.append_arguments(block, [(type_, self.location) for type_ in types])
        end = ir.build_operation(OPS.op_class("return"), (), (), {}, {}, self.location, block)
        results = body(StablehloBuilder(end, location=self.location), arguments)
        ir.attach_operands(end, results)
        return Region(block)


def encoded(name: str, **attributes: object) -> dict[str, Attribute]:
    """The attributes of `stablehlo.<name>` from Python values, None: absent."""
    kinds = _kinds(name)
    return {
        key: _integers(name, key, value) if _is_of_integers(value) else kinds[key].encode(value)
        for key, value in attributes.items()
        if value is not None
    }


def _is_of_integers(value: object) -> TypeIs[tuple[int, ...]]:
    return isinstance(value, tuple) and all(map(_is_plain_integer, value))  # pyright: ignore


def _is_plain_integer(value: object) -> bool:
    return type(value) is int


@SESSION.cache(1024)
def _integers(name: str, key: str, values: tuple[int, ...]) -> Attribute:
    """The same attribute for equal integers, as programs repeat few."""
    return _kinds(name)[key].encode(values)


def with_shardings(op: Operation, shardings: Sequence[TensorSharding]) -> None:
    """Assigns `sdy.sharding` to an op with several results."""
    values = tuple(TensorShardingAttr(sharding).data for sharding in shardings)
    op.attributes["sdy.sharding"] = TensorShardingPerValueAttr(values)


@lru_cache(maxsize=256)
def _kinds(name: str) -> Mapping[str, AttributeKind]:
    return {slot.name: slot.kind for slot in OPS.rows[name].attributes}
