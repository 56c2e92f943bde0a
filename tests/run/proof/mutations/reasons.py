"""Why a change of a local program changes no result. Reasons are computed by runs, or by what uses a value.

    why_equal(runs, mutant)     # "padding: pad"

| reason | what holds |
|---|---|
| not executed | no device executes an op that was changed, on any input |
| constants | ops have the values that they had, which depend on no input |
| same members | groups of a reduction have the same devices, in another order |
| equal parts | a collective takes parts of other devices, and gives what it gave |
| equal terms | ops have the values that they had on all inputs: the exact proof shows it for others |
| dead | nothing that is returned is made of the values that differ |
| padding | values differ in elements only that are padding |
| not read | the elements that differ may be any others: results are the same with random ones |
| same outcome | an op gives the same for other values, as a comparison whose limit none of them reaches |

Not here: whether a program is equal (`difference.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue

from shardy_py.base.errors import ShardyError
from shardy_py.mlir.dialects.traits import is_terminator
from shardy_py.mlir.ir import operands_of, terminator_of, type_of, user_of, walk_pre_order
from shardy_py.mlir.plain import tensor_type
from shardy_py.mlir.record import record_of
from shardy_py.ops import Control
from shardy_py.ops.table import row_of
from shardy_py.run.interpret.values import is_array
from shardy_py.run.proof.shards import Shards
from shardy_py.sharding.meshes import resolve
from tests.run.proof.mutations.broken import Mutant
from tests.run.proof.mutations.communication import GROUPED
from tests.run.proof.mutations.difference import (
    DIFFERENT,
    UNORDERED,
    Input,
    Runs,
    difference_of,
    executable,
    has_same_members,
)
from tests.run.proof.mutations.edits import short

TIMES = 12
"""Inputs on which a reason holds."""
DRAWS = 2
"""Random values of elements that nothing reads, on each input."""
UNEXPLAINED = "unexplained"


Executions = list[list[Any]]
"""The results of an op, execution by execution."""


@dataclass(eq=False)
class _Seen:
    """The results of all ops of a run, execution by execution, with the devices."""

    results: dict[Operation, Executions] = field(default_factory=dict[Operation, "Executions"])
    devices: dict[Operation, list[Any]] = field(default_factory=dict[Operation, "list[Any]"])

    def observe(self, op: Operation, devices: Any, results: list[Any]) -> None:
        self.results.setdefault(op, []).append(results)
        self.devices.setdefault(op, []).append(devices.members)


def why_equal(runs: Runs, mutant: Mutant) -> str:
    """The reason, with the ops that it is about; begins with `UNEXPLAINED` if there is none."""
    return _Reasons.of(runs, mutant).reason()


@dataclass(eq=False)
class _Reasons:
    """A mutant beside the unbroken program.

    twins: the op of the unbroken program that an op was. seen: both runs of each input, old and new.
    """

    runs: Runs
    mutant: Mutant
    twins: dict[Operation, Operation]
    inputs: list[Input]
    seen: list[tuple[_Seen, _Seen]]

    @staticmethod
    def of(runs: Runs, mutant: Mutant) -> _Reasons:
        twins = dict(zip(mutant.before, walk_pre_order(runs.partitioned.local), strict=True))
        inputs, seen = list(runs.inputs(TIMES)), list[tuple[_Seen, _Seen]]()
        for given in inputs:
            pair = _Seen(), _Seen()
            for each, partitioned in zip(pair, (runs.partitioned, mutant.partitioned), strict=True):
                executable(partitioned, each.observe).run(given.arrays)
            seen.append(pair)
        return _Reasons(runs, mutant, twins, inputs, seen)

    def reason(self) -> str:
        edited = [op for op in walk_pre_order(self.mutant.partitioned.local) if self._is_edited(op)]
        executed = {op for _, new in self.seen for op in new.results}
        if not any(_stands_for(op) in executed for op in edited if not _is_of_main(op)) and not any(
            map(_is_of_main, edited)
        ):
            return _of("not executed", edited)
        changed = {op for op in executed if op in self.twins and self._differences(op)}
        if not changed:
            return self._of_same_values(edited)
        sources = [op for op in changed if changed.isdisjoint(_feeding(op))] or [*changed]
        if not any(map(_reaches_end, sources)):
            return _of("dead", sources)
        if all(map(self._is_in_padding, sources)):
            return _of("padding", sources)
        if self._is_not_read(sources):
            return _of("not read", sources)
        absorbing = [
            op for op in executed - changed if op in self.twins and not changed.isdisjoint(_feeding(op))
        ]
        return _of("same outcome" if absorbing else UNEXPLAINED, absorbing or sources)

    def _is_edited(self, op: Operation) -> bool:
        """Whether an op is new, or has other attributes, operands or regions than it had."""
        twin = self.twins.get(op)
        if twin is None:
            return True
        pairs = zip(operands_of(op), operands_of(twin), strict=True)
        firsts = [(a.blocks[0].first_op, b.blocks[0].first_op) for a, b in _regions(op, twin)]
        return (
            op.properties != twin.properties
            or not all(self._is_same(*pair) for pair in pairs)
            or any(a is None or self.twins.get(a) is not b for a, b in firsts)
        )

    def _is_same(self, value: SSAValue, twin: SSAValue) -> bool:
        if isinstance(value, OpResult) and isinstance(twin, OpResult):
            return self.twins.get(value.op) is twin.op and value.index == twin.index
        if isinstance(value, BlockArgument) and isinstance(twin, BlockArgument):
            return value.index == twin.index
        return False

    def _differences(self, op: Operation) -> list[tuple[int, int, int, Any]]:
        """Of each result that differs: the input, the execution, the result, and the elements that do."""
        found: list[tuple[int, int, int, Any]] = []
        for number, (old, new) in enumerate(self.seen):
            before, after = old.results.get(self.twins[op], []), new.results.get(op, [])
            for execution, pair in enumerate(zip(before, after, strict=False)):
                for index, arrays in enumerate(zip(*pair, strict=True)):
                    mask = _mask(*arrays)
                    if mask is not None:
                        found.append((number, execution, index, mask))
            if len(before) != len(after):
                found.append((number, min(len(before), len(after)), 0, np.True_))
        return found

    def _of_same_values(self, edited: Sequence[Operation]) -> str:
        if not any(map(_depends_on_inputs, edited)):
            return _of("constants", edited)
        moving = [op for op in edited if short(op) in (*GROUPED, "collective_permute")]
        if moving and all(op in moving or is_terminator(op) for op in edited):
            if all(map(self._has_same_members, moving)):
                return _of("same members", moving)
            if all(op in self.twins or self._gives_its_operand(op) for op in moving):
                return _of("equal parts", moving)
        return _of("equal terms", edited)

    def _has_same_members(self, op: Operation) -> bool:
        twin = self.twins.get(op)
        return twin is not None and short(op) in UNORDERED and has_same_members(op, twin)

    def _gives_its_operand(self, op: Operation) -> bool:
        """Whether a collective that was inserted gives each device what that has."""
        maker = operands_of(op)[0].owner
        if not isinstance(maker, Operation):
            return True  # arguments are not observed: results are equal
        index = maker.results.index(operands_of(op)[0])  # pyright: ignore[reportArgumentType]
        return all(
            _mask(before[index], after[0]) is None
            for _, new in self.seen
            for before, after in zip(new.results.get(maker, []), new.results.get(op, []), strict=False)
        )

    def _is_in_padding(self, op: Operation) -> bool:
        """Whether the elements that differ are padding."""
        twin, case = self.twins[op], self.runs.case
        for number, execution, index, mask in self._differences(op):
            counterpart = case.found.get(twin.results[index])
            whole = None if counterpart is None else tensor_type(type_of(counterpart.whole[0]))
            local = tensor_type(type_of(twin.results[index]))
            if counterpart is None or counterpart.sharding is None or whole is None or local is None:
                return False
            mesh = resolve(counterpart.sharding.mesh, case.partitioned.meshes)
            shape, part = (tuple(size or 0 for size in type_.shape) for type_ in (whole, local))
            try:
                shards = Shards.of(counterpart.sharding, mesh, shape, part, case.partitioned.grid.size)
            except ShardyError:
                return False
            devices = np.asarray(self.seen[number][1].devices[op][execution])
            if (mask & shards.inside(devices)).any():
                return False
        return True

    def _is_not_read(self, sources: Sequence[Operation]) -> bool:
        """Whether results stay the same when elements that differ are random, on all inputs."""
        masks = {op: {tuple(at): mask for *at, mask in self._differences(op)} for op in sources}
        for number, given in enumerate(self.inputs):
            for draw in range(DRAWS):
                random, counts = np.random.default_rng((number, draw)), dict[Operation, int]()

                def observe(
                    op: Operation,
                    devices: Any,
                    results: list[Any],
                    number: int = number,
                    random: np.random.Generator = random,
                    counts: dict[Operation, int] = counts,
                ) -> list[Any] | None:
                    if op not in masks:
                        return None
                    execution = counts[op] = counts.get(op, -1) + 1
                    for index, array in enumerate(results):
                        mask = masks[op].get((number, execution, index))
                        if mask is not None and is_array(array):
                            results[index] = np.where(mask, _random(random, array, np.shape(mask)), array)
                    return results

                try:
                    made = executable(self.mutant.partitioned, observe).run(given.arrays)
                except ShardyError:
                    return False
                if self._differ(given, made):
                    return False
        return True

    def _differ(self, given: Input, made: Sequence[Any]) -> bool:
        devices = self.runs.partitioned.grid.size
        pairs = zip(self.runs.outputs, given.results or (), made, strict=True)
        return any(difference_of(shards, old, new, devices) == DIFFERENT for shards, old, new in pairs)


def _of(reason: str, ops: Sequence[Operation]) -> str:
    return f"{reason}: {', '.join(sorted({short(op) for op in ops}))}"


def _regions(op: Operation, twin: Operation) -> Iterator[tuple[Any, Any]]:
    return ((a, b) for a, b in zip(op.regions, twin.regions, strict=True) if a.blocks and b.blocks)


def _mask(old: Any, new: Any) -> Any:
    """The elements in which two results differ; None: none."""
    if not is_array(old) or not is_array(new):
        return None
    if old.shape[1:] != new.shape[1:]:
        return np.True_
    mask = (old != new) & ~((old != old) & (new != new))
    return mask if mask.any() else None


def _random(random: np.random.Generator, array: Any, sizes: tuple[int, ...]) -> Any:
    """Random values of the type of an array, of the shape in which it meets one of `sizes`."""
    shape = np.broadcast_shapes(array.shape, sizes)
    if array.dtype.kind == "b":
        return random.random(shape) < 0.5
    drawn = random.integers(0, 12, shape) if array.dtype.kind in "iu" else random.standard_normal(shape) * 8
    return drawn.astype(array.dtype)


def _stands_for(op: Operation) -> Operation:
    """The op that is observed: that of a combiner, or before the end of a region, or the op itself."""
    around = op.parent_op()
    while around is not None and around.name not in ("func.func", "builtin.module"):
        if row_of(record_of(around)).control is Control.NONE and around.results:
            return _stands_for(around)
        around = around.parent_op()
    if not is_terminator(op):
        return op
    return op.prev_op or op.parent_op() or op


def _is_of_main(op: Operation) -> bool:
    """Whether an op ends a function, or is one: it is not observed."""
    around = op.parent_op()
    return not op.results and (around is None or around.name in ("func.func", "builtin.module"))


def _feeding(op: Operation) -> set[Operation]:
    """The ops of which an op takes values, also around a region, or in the iteration before."""
    found = set[Operation]()
    for value in operands_of(op):
        if isinstance(value.owner, Operation):
            found.add(value.owner)
        else:
            found |= set(_makers(value.owner))
    ends = (terminator_of(region) for region in op.regions)
    return found | {owner for end in ends if end is not None for owner in _owners(end)}


def _makers(block: Block) -> Iterator[Operation]:
    """The ops that make arguments of a block."""
    around = block.parent_op()
    if around is not None and around.name != "func.func":
        yield from _owners(around)
        for region in around.regions:
            end = terminator_of(region)
            if end is not None:
                yield from _owners(end)


def _owners(op: Operation) -> Iterator[Operation]:
    return (value.owner for value in operands_of(op) if isinstance(value.owner, Operation))


def _reaches_end(op: Operation) -> bool:
    """Whether a result of the program may be made of a result of an op."""
    found, left = {op}, [op]
    while left:
        each = left.pop()
        values = [
            *each.results,
            *(argument for region in each.regions for b in region.blocks for argument in b.args),
        ]
        after = [user_of(use) for value in values for use in value.uses]
        for user in after:
            around = user.parent_op() if is_terminator(user) else None
            if around is not None and around.name == "func.func":
                return True
            for reached in (user, around):
                if reached is not None and reached not in found:
                    found.add(reached)
                    left.append(reached)
    return False


def _depends_on_inputs(op: Operation) -> bool:
    """Whether the results of an op are made of arguments of main, or of random numbers."""
    found, left = {op}, [op]
    while left:
        each = left.pop()
        if any(isinstance(value, BlockArgument) and _is_argument(value) for value in operands_of(each)):
            return True
        for owner in _feeding(each) - found:
            found.add(owner)
            left.append(owner)
    return False


def _is_argument(value: BlockArgument) -> bool:
    around = value.owner.parent_op()
    return around is not None and around.name == "func.func"
