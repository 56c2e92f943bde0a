"""The operands of a product that another op gathers alike: these are gathered once, in no loop.

    w is sharded; x @ w and y @ w.T both need all of it  ->  one gather

Source: openxla/xla, `check_users_sharding` in xla/service/spmd/dot_handler.cc, and `GetShardingFromUser` in
xla/service/sharding_propagation.cc. Not here: the loops (`einsum_loops.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import field

from shardy_py.base.records import dataclass
from shardy_py.ops import TABLE, TensorType
from shardy_py.ops.dimensions import DotDimensions
from shardy_py.xla.spmd.application import static_shape
from shardy_py.xla.spmd.matching import transposed
from shardy_py.xla.spmd.partitioned import HeldTensor
from shardy_py.xla.spmd.planned import the_tiling
from shardy_py.xla.spmd.products import LHS, RHS, Product, ProductDimensions, operand_tiling
from shardy_py.xla.spmd.program import Block, Name, PlannedOp
from shardy_py.xla.spmd.tiling import Tiling

_NUMBERS = "dot_dimension_numbers"


@dataclass(frozen=True, slots=True)
class ValueUses:
    """The values of a block that products read.

    users: the steps that read each. tilings: those that the program gives them. known: the tilings that
    products want of operands, by the identities of what that depends on, which the block keeps. wanted: by
    value how many users want each tiling of it.
    """

    users: Mapping[Name, Sequence[PlannedOp]]
    tilings: Mapping[Name, Tiling | None]
    known: dict[tuple[int, ...], Tiling | None] = field(
        default_factory=dict[tuple[int, ...], "Tiling | None"]
    )
    wanted: dict[Name, Counter[Tiling | None]] = field(default_factory=dict[Name, "Counter[Tiling | None]"])

    @staticmethod
    def of(block: Block, live: Container[Name]) -> ValueUses:
        """The values of a block that products read. live: those that something needs."""
        users: dict[Name, list[PlannedOp]] = {}
        read = {name for step in block.steps if _NUMBERS in step.record.attributes for name in step.operands}
        tilings = {value.name: value.tiling for value in block.arguments}
        for step in block.steps:
            results = step.results
            if not read.isdisjoint(results):
                tilings.update(zip(results, step.targets, strict=True))
            if not read.isdisjoint(step.operands) and (not results or any(name in live for name in results)):
                for name in read.intersection(step.operands):
                    users.setdefault(name, []).append(step)
        return ValueUses(users, tilings)

    def shared(self, step: PlannedOp) -> frozenset[int]:
        """Returns the operands of a product, by number, that another user wants in the same tiling."""
        return frozenset(number for number in range(len(step.operands)) if self._is_shared(step, number))

    def _is_shared(self, step: PlannedOp, number: int) -> bool:
        name = step.operands[number]
        users = self.users.get(name, ())
        own = self._wanted(step, number) if len(users) > 1 else None
        if own is None:
            return False
        if own == self.tilings.get(name):
            return False
        if name not in self.wanted:
            self.wanted[name] = Counter(self._wanted(user, user.operands.index(name)) for user in users)
        is_own = self._wanted(step, step.operands.index(name)) == own  # the step is one of the users
        return self.wanted[name][own] > is_own

    def _wanted(self, step: PlannedOp, number: int) -> Tiling | None:
        """The tiling of an operand that the result of a step and its other operand suggest."""
        record, target = step.record, step.targets[0] if step.targets else None
        if target is None:
            return None
        if _NUMBERS in record.attributes:
            held = [id(self.tilings.get(name)) for name in step.operands]
            key = number, id(record), id(target), *held
            if key not in self.known:
                found = self._wanted_by_product(step, target, number)
                # Equal ones are one, so that they are compared at once.
                self.known[key] = None if found is None else the_tiling(found)
            return self.known[key]
        permutation = record.attributes.get("permutation")
        if permutation is not None:
            return transposed(target, permutation, len(permutation))
        row, type_ = TABLE.get(record.name), record.operands[number]
        is_alike = row is not None and row.is_elementwise is True
        return target if is_alike and type_ is not None and type_.rank == target.rank else None

    def _wanted_by_product(self, step: PlannedOp, target: Tiling, number: int) -> Tiling | None:
        held = [
            _held(type_, self.tilings.get(name))
            for type_, name in zip(step.record.operands, step.operands, strict=True)
        ]
        if held[0] is None or held[1] is None:
            return None
        own = DotDimensions.of(step.record.attributes)
        dimensions = ProductDimensions.of_dot(
            len(held[0].shape), len(held[1].shape), contracting=own.contracting, batch=own.batching
        )
        product = Product(dimensions, held[0], held[1], static_shape(step.record, 0), target, "")
        return operand_tiling(product, (LHS, RHS)[number], with_other=True)


def _held(type_: TensorType | None, tiling: Tiling | None) -> HeldTensor | None:
    if type_ is None or tiling is None:
        return None
    return HeldTensor.of(tuple(size or 0 for size in type_.shape), tiling, type_.element)
