"""Shardy's op interfaces: ops of any dialect implement them so that shardings propagate through them.

`ShardableDataFlowOpInterface` is for ops that pass data on unchanged, mostly ops with regions. An edge joins
sources (operands of the op, or of a terminator in its regions) with targets (its results, or block arguments
of its regions) that must be sharded alike; one target, the owner, represents it.

    y = stablehlo.while(x) cond { ^c: ... } do { ^b: return r }     sources x, r; owner y; other targets c, b

`ShardingRuleOpInterface` is for ops that know their own sharding rule.

An op class has them among its traits (`mlir/dialects/traits.py`). Not here: edges (`mlir/data_flow.py`),
rules that follow from indexing maps (`propagation/rules/`), worked examples (docs/extending.md).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, cast

from typing_extensions import override
from xdsl.ir import Attribute, BlockArgument, Operation, OpResult, Region, SSAValue
from xdsl.traits import OpTrait

from shardy_py.base.behaviours import Behaviour
from shardy_py.mlir.dialects.sdy.attributes import ManualAxesAttr, TensorShardingPerValueAttr
from shardy_py.mlir.text.recipes import inherent_names
from shardy_py.ops import OpRecord
from shardy_py.sharding import ShardingRule, TensorSharding
from shardy_py.sharding.tensor_sharding import with_free_axes, without_manual_axes

Source = tuple[Operation, int]
"""The use of a value as a source: the op that uses it and the operand's index."""

Shardings = tuple[TensorSharding, ...]


class ShardableDataFlowOpInterface(OpTrait, ABC):
    """The edges of one kind of op; the names are Shardy's.

    should_keep_edge_owner_shardings_divisible: whether the shardings of owners must divide their dimensions.
    sharding_properties: the properties, or attributes, of the op that hold shardings, beside `sdy.sharding`.
    behaviour: without it in a release, the op has no edges there; None: it always has.
    """

    should_keep_edge_owner_shardings_divisible: ClassVar[bool] = False
    sharding_properties: ClassVar[tuple[str, ...]] = ()
    behaviour: ClassVar[Behaviour | None] = None

    def block_argument_edge_owners(self, op: Operation) -> Sequence[BlockArgument]:
        """The block arguments that own edges."""
        return ()

    def op_result_edge_owners(self, op: Operation) -> Sequence[OpResult]:
        """The results that own edges."""
        return op.results

    @abstractmethod
    def edge_sources(self, op: Operation, owner: SSAValue) -> tuple[Source, ...]:
        """The sources of the edge of `owner`."""

    def edge_owner_from_target(self, op: Operation, target: SSAValue) -> SSAValue | None:
        """The owner of the edge of a target; None for a block argument that is not a target."""
        return target if isinstance(target, OpResult) else None

    def edge_owner_from_source(self, op: Operation, user: Operation, index: int) -> SSAValue | None:
        """The owner of the edge of a source: of operand `index` of `user`, which is `op` or ends a region."""
        return op.results[index] if index < len(op.results) else None

    def non_edge_owner_targets(self, op: Operation, owner: SSAValue) -> tuple[SSAValue, ...]:
        """The targets of the edge of `owner` beside itself."""
        return ()

    def block_argument_edge_owner_shardings(self, op: Operation) -> Shardings:
        """The shardings of block arguments that own edges, as the region sees them; () if none has one."""
        return ()

    def block_argument_edge_owner_sharding(self, op: Operation, index: int) -> TensorSharding | None:
        """The sharding of one of them, None if none has one."""
        return sharding_at(self.block_argument_edge_owner_shardings(op), index)

    def set_block_argument_edge_owner_shardings(self, op: Operation, shardings: Shardings) -> None:
        """Sets all of them; does nothing if the op cannot hold them."""

    def op_result_edge_owner_shardings(self, op: Operation) -> Shardings:
        """The shardings of the results that own edges; () if none has one."""
        return shardings_of(op.attributes.get("sdy.sharding"))

    def set_op_result_edge_owner_shardings(self, op: Operation, shardings: Shardings) -> None:
        """Sets them all."""
        op.attributes["sdy.sharding"] = TensorShardingPerValueAttr(shardings)

    def outer_sharding(self, op: Operation, owner: SSAValue) -> TensorSharding | None:
        """The sharding of an owner as it is outside, manual axes included."""
        shardings = (
            self.op_result_edge_owner_shardings(op)
            if isinstance(owner, OpResult)
            else self.block_argument_edge_owner_shardings(op)
        )
        return sharding_at(shardings, index_of(owner))


class EachOperandDataFlow(ShardableDataFlowOpInterface):
    """Ops that pass every operand on as the result of the same number: `stablehlo.optimization_barrier`."""

    @override
    def edge_sources(self, op: Operation, owner: SSAValue) -> tuple[Source, ...]:
        return ((op, index_of(owner)),)


class BranchDataFlow(ShardableDataFlowOpInterface):
    """Ops that run one of their regions, whose terminator returns the results: `stablehlo.case`."""

    @override
    def edge_sources(self, op: Operation, owner: SSAValue) -> tuple[Source, ...]:
        terminators = map(_terminator, op.regions)
        return tuple((t, index_of(owner)) for t in terminators if t is not None)


class ConditionalDataFlow(BranchDataFlow):
    """`stablehlo.if`, since some release."""

    behaviour: ClassVar[Behaviour | None] = Behaviour.IF_IS_DATA_FLOW


class LoopDataFlow(ShardableDataFlowOpInterface):
    """Ops that carry values through regions, the last of which is the body: `stablehlo.while`.

    Operands, arguments of every region, operands of the body's terminator and results correspond by number.
    """

    @override
    def edge_sources(self, op: Operation, owner: SSAValue) -> tuple[Source, ...]:
        body = _terminator(op.regions[-1])
        assert body is not None
        return ((op, index_of(owner)), (body, index_of(owner)))

    @override
    def edge_owner_from_target(self, op: Operation, target: SSAValue) -> SSAValue | None:
        index = index_of(target)
        return op.results[index] if index < len(op.results) else None

    @override
    def non_edge_owner_targets(self, op: Operation, owner: SSAValue) -> tuple[SSAValue, ...]:
        index = index_of(owner)
        return tuple(region.blocks[0].args[index] for region in op.regions)


class RegionDataFlow(ShardableDataFlowOpInterface):
    """Ops that run their only region once: `sdy.named_computation`, `sdy.manual_computation`.

    Operands flow into block arguments and operands of the terminator into results, by number, each an edge
    with one target. Shardings are in `in_shardings` and `out_shardings`, properties if the class declares
    them. The region is local along the axes in a property `manual_axes`: shardings of owners keep these
    axes whatever propagates, and the region does not see them.
    """

    sharding_properties: ClassVar[tuple[str, ...]] = ("in_shardings", "out_shardings")

    @override
    def block_argument_edge_owners(self, op: Operation) -> Sequence[BlockArgument]:
        return op.regions[0].blocks[0].args

    @override
    def edge_sources(self, op: Operation, owner: SSAValue) -> tuple[Source, ...]:
        if isinstance(owner, BlockArgument):
            return ((op, owner.index),)
        terminator = _terminator(op.regions[0])
        assert terminator is not None
        return ((terminator, index_of(owner)),)

    @override
    def edge_owner_from_target(self, op: Operation, target: SSAValue) -> SSAValue | None:
        return target

    @override
    def edge_owner_from_source(self, op: Operation, user: Operation, index: int) -> SSAValue | None:
        # Shardy's look-up answers an operand of the op with the operand itself, which never has an edge as
        # its only user. So a change of such an operand does not enqueue the edge of its block argument.
        return None if user is op else super().edge_owner_from_source(op, user, index)

    @override
    def block_argument_edge_owner_shardings(self, op: Operation) -> Shardings:
        outer = _held(op, "in_shardings")
        axes = manual_axes(op)
        return tuple(without_manual_axes(sharding, axes) for sharding in outer) if axes else outer

    @override
    def block_argument_edge_owner_sharding(self, op: Operation, index: int) -> TensorSharding | None:
        # Derived alone: deriving all of them to read one makes reading all of them quadratic.
        outer = sharding_at(_held(op, "in_shardings"), index)
        return None if outer is None else without_manual_axes(outer, manual_axes(op))

    @override
    def set_block_argument_edge_owner_shardings(self, op: Operation, shardings: Shardings) -> None:
        axes, outer = manual_axes(op), _held(op, "in_shardings")
        if axes and outer:
            shardings = tuple(with_free_axes(o, s, axes) for o, s in zip(outer, shardings, strict=True))
        _hold(op, "in_shardings", shardings)

    @override
    def op_result_edge_owner_shardings(self, op: Operation) -> Shardings:
        return _held(op, "out_shardings")

    @override
    def set_op_result_edge_owner_shardings(self, op: Operation, shardings: Shardings) -> None:
        _hold(op, "out_shardings", shardings)

    @override
    def outer_sharding(self, op: Operation, owner: SSAValue) -> TensorSharding | None:
        name = "in_shardings" if isinstance(owner, BlockArgument) else "out_shardings"
        return sharding_at(_held(op, name), index_of(owner))


class ManualDataFlow(RegionDataFlow):
    """`sdy.manual_computation`: shardings of owners must divide the dimensions."""

    should_keep_edge_owner_shardings_divisible: ClassVar[bool] = True


class ShardingRuleOpInterface(OpTrait, ABC):
    """The sharding rule of one kind of op, from its types and attributes.

    should_keep_output_shardings_divisible: whether the shardings of results must divide their dimensions.
    """

    should_keep_output_shardings_divisible: ClassVar[bool] = False

    @abstractmethod
    def sharding_rule(self, record: OpRecord) -> ShardingRule | None:
        """The rule; None: nothing propagates. Asked once for all ops with the same types and attributes."""


def manual_axes(op: Operation) -> tuple[str, ...]:
    """The axes along which the region of `op` is local; () for most ops."""
    attribute = op.properties.get("manual_axes")
    return attribute.data if isinstance(attribute, ManualAxesAttr) else ()


def index_of(value: SSAValue) -> int:
    """The number of a result or block argument."""
    return cast("OpResult | BlockArgument", value).index


def _terminator(region: Region) -> Operation | None:
    block = region.first_block
    return None if block is None else block.last_op


def shardings_of(attribute: Attribute | None) -> Shardings:
    """The shardings that an attribute holds, () for None and attributes of other classes."""
    return attribute.data if isinstance(attribute, TensorShardingPerValueAttr) else ()


def _held(op: Operation, name: str) -> Shardings:
    return shardings_of(op.properties.get(name) or op.attributes.get(name))


def _hold(op: Operation, name: str, shardings: Shardings) -> None:
    entries = op.properties if name in inherent_names(type(op)) else op.attributes
    entries[name] = TensorShardingPerValueAttr(shardings)


def sharding_at(shardings: Shardings, index: int) -> TensorSharding | None:
    """The sharding with that index, None if there are fewer."""
    return shardings[index] if index < len(shardings) else None
