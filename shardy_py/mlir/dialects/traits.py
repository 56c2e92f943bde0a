"""Questions that engines ask of ops of any dialect, answered by the traits of the op's class.

Each answer is cached by class, so it costs one dictionary look-up an op. Unregistered ops have no traits:
nothing is known of them, and nothing is done to them.

- constants: `is_constant`, `is_foldable_constant`, `constant_of`
- effects: `is_dead_when_unused`
- structure: `is_terminator`, `is_isolated`, `is_commutative`
- shardings: `data_flow`, `sharding_property`

Calls, functions and modules are classes of xDSL: `isinstance(op, FuncOp)`. What an
op reads and how shardings propagate through it is in `ops/` (`OpSpec`), which does not know xDSL.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.traits import (
    Commutative,
    ConstantLike,
    IsolatedFromAbove,
    IsTerminator,
    MemoryEffect,
    MemoryEffectKind,
    NoMemoryEffect,
    OpTrait,
    RecursiveMemoryEffect,
    SymbolOpInterface,
)

from shardy_py.base.records import dataclass
from shardy_py.mlir.ir import blocks_of

if TYPE_CHECKING:
    from shardy_py.mlir.dialects.sdy.interfaces import ShardableDataFlowOpInterface


class UnfoldableConstant(OpTrait):
    """Ops whose result is their attribute `value`, which no folder may merge or move: `sdy.constant`.

    Those that folders may merge have xDSL's `ConstantLike`.
    """


@dataclass(frozen=True)
class ShardingProperty(OpTrait):
    """Ops that keep the sharding of their result in the property `name`, not in `sdy.sharding`."""

    name: str


@lru_cache(maxsize=4096)
def _has(op_class: type[Operation], trait: type[OpTrait]) -> bool:
    return op_class.get_trait(trait) is not None


def is_constant(op: Operation) -> bool:
    """Returns whether the result of `op` is its attribute `value`."""
    return is_constant_class(op.__class__)


def is_constant_class(op_class: type[Operation]) -> bool:
    """Returns whether the results of ops of a class are their attribute `value`."""
    return _has(op_class, ConstantLike) or _has(op_class, UnfoldableConstant)


def is_foldable_constant(op: Operation) -> bool:
    """Returns whether `op` is a constant that may be moved and merged with equal ones, as in MLIR."""
    return _has(op.__class__, ConstantLike)


def constant_of(value: SSAValue) -> Operation | None:
    """The constant op that defines `value`, None if it is anything else."""
    return value.op if isinstance(value, OpResult) and is_constant(value.op) else None


def is_terminator(op: Operation) -> bool:
    """Returns whether `op` ends its block and passes its operands on."""
    return _has(op.__class__, IsTerminator)


def is_isolated(op: Operation) -> bool:
    """Returns whether the regions of `op` may not use values from outside."""
    return _has(op.__class__, IsolatedFromAbove)


def is_commutative(op: Operation) -> bool:
    """Returns whether MLIR's folder may reorder the operands of `op`.

    StableHLO's commutative ops are not: the dialect keeps them from being folded (`HloCommutative`).
    """
    return _has(op.__class__, Commutative)


def data_flow(op: Operation) -> ShardableDataFlowOpInterface | None:
    """The data-flow edges of `op`, None if shardings propagate through it by a rule or not at all."""
    return data_flow_of(op.__class__)


def required_data_flow(op: Operation) -> ShardableDataFlowOpInterface:
    """The data-flow edges of `op`, which has some."""
    flow = data_flow_trait(op.__class__)
    assert flow is not None, f"'{op.name}' has no data-flow edges"
    return flow


def data_flow_of(op_class: type[Operation]) -> ShardableDataFlowOpInterface | None:
    """The data-flow edges of the ops of a class, None if they have none."""
    flow = data_flow_trait(op_class)
    if flow is None or flow.behaviour is None:
        return flow
    return flow if flow.behaviour.holds else None


@lru_cache(maxsize=4096)
def data_flow_trait(op_class: type[Operation]) -> ShardableDataFlowOpInterface | None:
    """The data-flow edges that the ops of a class have in some release, None if they have none."""
    from shardy_py.mlir.dialects.sdy.interfaces import ShardableDataFlowOpInterface

    return op_class.get_trait(ShardableDataFlowOpInterface)


def sharding_property(op: Operation) -> str | None:
    """The property that holds the sharding of the result; None for ops that have it in `sdy.sharding`."""
    return _sharding_property(op.__class__)


@lru_cache(maxsize=4096)
def _sharding_property(op_class: type[Operation]) -> str | None:
    trait = op_class.get_trait(ShardingProperty)
    return None if trait is None else trait.name


def is_dead_when_unused(op: Operation) -> bool:
    """Returns whether `op` may be erased once nothing uses its results: MLIR's `wouldOpBeTriviallyDead`.

    Terminators and symbols stay, and so does what writes, allocates or frees, itself or in its regions.
    """
    op_class = op.__class__
    return _is_effect_free(op_class) or (_is_erasable(op_class) and _reads_at_most(op))


@lru_cache(maxsize=4096)
def _is_effect_free(op_class: type[Operation]) -> bool:
    """Returns whether no op of a class, which may be erased, has effects."""
    traits = _memory_effects(op_class)
    never = all(isinstance(trait, NoMemoryEffect) for trait in traits)
    return bool(traits) and never and _is_erasable(op_class)


@lru_cache(maxsize=4096)
def _is_erasable(op_class: type[Operation]) -> bool:
    return not (_has(op_class, IsTerminator) or _has(op_class, SymbolOpInterface))


@lru_cache(maxsize=4096)
def _memory_effects(op_class: type[Operation]) -> tuple[MemoryEffect, ...]:
    return tuple(op_class.get_traits_of_type(MemoryEffect))


def _reads_at_most(op: Operation) -> bool:
    """Returns whether the effects of `op` are known, and it has none but reads."""
    traits = _memory_effects(op.__class__)
    for trait in traits:
        if isinstance(trait, RecursiveMemoryEffect):
            if not all(_reads_at_most(inner) for block in blocks_of(op) for inner in block.ops):
                return False
            continue
        effects = trait.get_effects(op)
        if effects is None or any(effect.kind is not MemoryEffectKind.READ for effect in effects):
            return False
    return bool(traits)
