"""Whether a change of a local program changes what a device returns: both run in floats on many inputs.

    differs = Runs.of(partitioned).compare(mutant)
    differs.kind, differs.reason

Inputs are adversarial: integers over the ranges that they may index, edges of types, ties, huge and tiny
floats, and padding of any content. Nothing of the proof is used but the parts of inputs and results. Why a
program is equal: `reasons.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from xdsl.ir import Operation

from shardy_py.base.errors import ShardyError
from shardy_py.mlir.ir import find_ops_where, operands_of, type_of, walk_pre_order
from shardy_py.mlir.plain import tensor_type
from shardy_py.mlir.symbols import function_name
from shardy_py.ops import TensorType
from shardy_py.ops.compute import Array
from shardy_py.ops.compute.lanes import TOKEN
from shardy_py.passes.partitioned import Partitioned
from shardy_py.run.interpret import Executable, RunLimits, Settings
from shardy_py.run.interpret.inputs import dtype_of
from shardy_py.run.interpret.machine import Observe
from shardy_py.run.interpret.values import is_array
from shardy_py.run.proof.case import Case, arguments_of, main_of
from shardy_py.run.proof.shards import Shards
from tests.run.proof.mutations.broken import Mutant
from tests.run.proof.mutations.edits import short, value_of

TIMES = 120
"""Inputs on which a mutant is equal; a different one is known after a few."""
STEPS = 1 << 14
HUGE = 1e20
NOISE = 2.0**-18
"""Differences below it, of the largest element of a tensor, may come from the order of a sum."""
REORDERING = ("groups",)
"""Kinds of changes that may do no more than change the order of a sum."""
OVERFLOWING = (*REORDERING, "partition id")
"""Kinds after which another device may add a term: sums of huge floats overflow in one order only."""
UNORDERED = ("all_reduce",)
"""Ops whose groups may have any order, but for rounding."""
DIFFERENT, ROUNDED, EQUAL = "different", "rounded", "equal"
FLOATS = ("normal", "large", "ties", "negative", "positive", "edges", "tiny", "zeros")
INTEGERS = ("index", "edges", "index", "any", "zeros", "index")
_MODES = len(FLOATS) * len(INTEGERS)
"""What an input is like, as floats or as integers: of the first by the seed, of the others at random."""


@dataclass(frozen=True)
class Difference:
    """What a change does: `DIFFERENT` results, those that differ by rounding, or `EQUAL` ones, and why."""

    kind: str
    reason: str


@dataclass(frozen=True, eq=False)
class Input:
    """Inputs of the local program, and what the unbroken one returns; None: it fails.

    is_extreme: whether sums of its floats may overflow, which depends on their order.
    """

    arrays: list[Any]
    results: list[Any] | None
    is_extreme: bool


@dataclass(frozen=True, eq=False)
class Runs:
    """The unbroken local program on all inputs."""

    case: Case
    times: int
    known: list[Input] = field(default_factory=list[Input])

    @staticmethod
    def of(partitioned: Partitioned, times: int = TIMES) -> Runs:
        """Nothing is run yet."""
        return Runs(Case.of(partitioned), times)

    @property
    def partitioned(self) -> Partitioned:
        """The unbroken program."""
        return self.case.partitioned

    def inputs(self, times: int) -> Iterator[Input]:
        """The inputs on which the unbroken program runs, with what it returns."""
        for seed in range(times):
            if seed == len(self.known):
                arrays = _inputs(self.case, seed)
                is_extreme = any(map(_is_extreme, arrays))
                try:
                    self.known.append(Input(arrays, self._unbroken.run(arrays), is_extreme))
                except ShardyError:
                    self.known.append(Input(arrays, None, is_extreme))
            if self.known[seed].results is not None:
                yield self.known[seed]

    @cached_property
    def _unbroken(self) -> Executable:
        return executable(self.partitioned)

    @cached_property
    def outputs(self) -> list[Shards | None]:
        return self.case.outputs()

    def compare(self, mutant: Mutant, more: int = 1) -> Difference:
        """What the change does, on that many times as many inputs."""
        found = EQUAL
        try:
            run = executable(mutant.partitioned)
        except ShardyError as error:
            return Difference(DIFFERENT, f"cannot run: {error}")
        is_order = mutant.kind in REORDERING and self._only_reorders(mutant)
        for given in self.inputs(self.times * more):
            assert given.results is not None
            if given.is_extreme and mutant.kind in OVERFLOWING:
                continue
            try:
                results = run.run(given.arrays)
            except ShardyError:
                return Difference(DIFFERENT, "fails")
            for shards, old, new in zip(self.outputs, given.results, results, strict=True):
                kind = difference_of(shards, old, new, self.partitioned.grid.size)
                if kind == DIFFERENT and not is_order:
                    return Difference(DIFFERENT, "")
                found = ROUNDED if kind in (ROUNDED, DIFFERENT) else found
        return Difference(found, "a sum in another order" if found == ROUNDED else "")

    def _only_reorders(self, mutant: Mutant) -> bool:
        """Whether no more changes than the order of devices in groups, which rounding alone may show."""
        pairs = zip(mutant.before, walk_pre_order(self.partitioned.local), strict=True)
        other = [pair for pair in pairs if pair[0].properties != pair[1].properties]
        return all("replica_groups" in op.properties and has_same_members(op, twin) for op, twin in other)


def has_same_members(op: Operation, twin: Operation) -> bool:
    """Whether a reduction has groups of the same devices as another one."""
    found = [{frozenset(row) for row in value_of(each, "replica_groups")} for each in (op, twin)]
    return short(op) in UNORDERED and found[0] == found[1]


def executable(partitioned: Partitioned, observe: Observe | None = None) -> Executable:
    """The local program. observe: sees the results of all ops, and may replace them."""
    settings = Settings(
        grid=partitioned.grid,
        limits=RunLimits(steps=STEPS),
        observed=lambda op: observe is not None,
        observe=observe,
        write=lambda line: None,
    )
    return Executable(partitioned.local, function_name(main_of(partitioned.local)), settings)


def difference_of(shards: Shards | None, old: Any, new: Any, devices: int) -> str:
    """How the true elements of a result differ, on all devices."""
    if not is_array(old):
        return EQUAL
    if old.shape[1:] != new.shape[1:]:
        return DIFFERENT
    if shards is not None and shards.groups is not None:
        old, new, inside = shards.joined(old), shards.joined(new), np.True_
    else:
        old, new = (np.broadcast_to(array, (devices, *array.shape[1:])) for array in (old, new))
        inside = np.True_ if shards is None else shards.inside(np.arange(devices))
    bad = (old != new) & ~((old != old) & (new != new)) & inside
    if not bad.any():
        return EQUAL
    if old.dtype.kind in "biu":
        return DIFFERENT
    with np.errstate(all="ignore"):
        kind = np.complex128 if old.dtype.kind == "c" else np.float64
        wide = old.astype(kind), new.astype(kind)
        finite = np.isfinite(wide[0]) & inside
        largest = float(np.abs(wide[0], where=finite, out=np.zeros(old.shape)).max(initial=0))
        is_small = np.abs(wide[0] - wide[1]) <= NOISE * largest
    return ROUNDED if (is_small | ~bad).all() else DIFFERENT


# ---------------------------------------------------------------------- inputs


def _is_extreme(array: Any) -> bool:
    """Whether it has huge floats."""
    if not is_array(array) or array.dtype.kind in "biu":
        return False
    with np.errstate(all="ignore"):
        return bool((np.abs(array.astype(np.complex128)) > HUGE).any())


def _inputs(case: Case, seed: int) -> list[Any]:
    """Inputs of a seed as parts of the devices; what they and their padding are like depends on the seed."""
    random = np.random.default_rng(seed)
    sizes = sorted(_sizes(case))
    made: list[Any] = []
    for number, (argument, shards) in enumerate(zip(arguments_of(case.whole), case.inputs(), strict=True)):
        tensor = tensor_type(type_of(argument))
        if tensor is None or shards is None:
            made.append(TOKEN)
            continue
        array = _random(random, tensor, seed if not number else int(random.integers(_MODES)), sizes)
        split = shards.split(array, 0)
        if shards.has_padding:
            fill = TensorType(split.shape, tensor.element)
            other = _random(random, fill, seed + 5, sizes)
            split = np.where(shards.inside(np.arange(shards.devices)), split, other)
        made.append(split)
    return made


def _sizes(case: Case) -> set[int]:
    """The sizes of dimensions of the whole program."""
    found = {2}
    for op in find_ops_where(case.whole, lambda op: True):
        for value in (*operands_of(op), *op.results):
            tensor = tensor_type(type_of(value))
            found.update(() if tensor is None else (size for size in tensor.shape if size))
    return found


def _random(random: np.random.Generator, type_: TensorType, mode: int, sizes: Sequence[int]) -> Array:
    dtype, shape = dtype_of(type_), tuple(size or 0 for size in type_.shape)
    if dtype == np.bool_:
        return np.asarray(random.random(shape) < random.choice([0.1, 0.5, 0.9]))
    if dtype.kind in "iu" or "int" in dtype.name:
        return _integers(random, dtype, shape, INTEGERS[mode % len(INTEGERS)], sizes)
    if dtype.kind == "c":
        parts = [_floats(random, shape, FLOATS[mode % len(FLOATS)]) for _ in range(2)]
        return (parts[0] + 1j * parts[1]).astype(dtype)
    with np.errstate(all="ignore"):
        return _floats(random, shape, FLOATS[mode % len(FLOATS)]).astype(dtype)


def _integers(
    random: np.random.Generator, dtype: np.dtype[Any], shape: tuple[int, ...], mode: str, sizes: Sequence[int]
) -> Array:
    size = int(random.choice(sizes))
    if mode == "any" and dtype.kind in "iu" and shape:
        limits = np.iinfo(dtype)
        return random.integers(limits.min, limits.max, shape, dtype, endpoint=True)
    if mode == "edges":
        chosen = random.choice([0, 1, -1, size - 1, size, size // 2], shape)
    elif mode == "zeros" or dtype.kind not in "iu":
        chosen = random.integers(0, 2, shape)
    else:
        chosen = random.integers(0, size + int(random.choice([0, 2])), shape)
    return np.asarray(chosen).astype(np.int64).astype(dtype)


def _floats(random: np.random.Generator, shape: tuple[int, ...], mode: str) -> Array:
    normal = random.standard_normal(shape)
    match mode:
        case "large":
            return normal * 1e3
        case "ties":
            return np.asarray(random.integers(-2, 3, shape), np.float64)
        case "negative":
            return -np.abs(normal) - 0.5
        case "positive":
            return np.abs(normal) + 0.5
        case "edges":
            return np.asarray(random.choice([0.0, 1.0, -1.0, 1e30, -1e30, -3.3e38, 3.3e38], shape))
        case "tiny":
            return normal * 1e-3
        case "zeros":
            return np.where(random.random(shape) < 0.5, 0.0, normal)
        case _:
            return np.asarray(normal)
