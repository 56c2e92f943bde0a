"""Compares what all devices compute with the whole program, op by op, while the local program runs.

The k-th execution of
an op by a device corresponds to the k-th one of the whole program: iterations of loops, calls.

Not here: the correspondences (`correspondences.py`), running the programs (`proving.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from math import prod

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import Operation, SSAValue

from shardy_py.base.errors import ShardyError
from shardy_py.base.records import dataclass
from shardy_py.ops import COMBINERS
from shardy_py.ops.compute import Array
from shardy_py.ops.compute.arithmetic import FLOAT, Arithmetic
from shardy_py.reshard.device_groups import replica_groups
from shardy_py.run.interpret.machine import Devices
from shardy_py.run.interpret.values import Value, is_array
from shardy_py.run.proof.correspondences import Counterpart
from shardy_py.run.proof.cutpoints import Cutpoints, with_sum
from shardy_py.run.proof.expected import Expected, Integers, Seen, of_execution
from shardy_py.run.proof.findings import Tally, Wrong, WrongValue
from shardy_py.run.proof.rounding import allowed, differs, is_float, largest, wide
from shardy_py.run.proof.shards import Shards
from shardy_py.sharding.meshes import Meshes, resolve

_LOOSE = 1e-3


@dataclass(eq=False)
class LocalObserver:
    """Observes the local program.

    moved: the values of the whole program after inputs were changed by a rounding. count: of devices.
    arithmetic: of both programs. parts: of tensors, known from other runs. cutpoints: the values that are
    replaced; None: none is, and the first wrong value ends the run. doubtful: the wrong ones if they are.
    """

    found: Mapping[SSAValue, Counterpart]
    expected: Expected
    moved: Expected | None
    meshes: Meshes
    count: int
    arithmetic: Arithmetic = FLOAT
    parts: dict[tuple[object, ...], Shards] = field(default_factory=dict[tuple[object, ...], Shards])
    tally: Tally = field(default_factory=Tally)
    cutpoints: Cutpoints | None = None
    doubtful: dict[SSAValue, Wrong] = field(default_factory=dict[SSAValue, Wrong])
    _executions: dict[tuple[int, int], int | Integers] = field(
        default_factory=dict[tuple[int, int], int | Integers]
    )
    _series: dict[tuple[SSAValue, ...], tuple[list[Seen], list[Seen]]] = field(
        default_factory=dict[tuple[SSAValue, ...], "tuple[list[Seen], list[Seen]]"]
    )

    def observed(self, op: Operation) -> bool:
        """Returns whether a result of the op has a counterpart."""
        return any(result in self.found for result in op.results)

    def observe(self, op: Operation, devices: Devices, results: list[Value]) -> list[Value] | None:
        """Compares the results of an op on these devices; returns what takes their place.

        Raises:
            WrongValue: the first one, if none is replaced.
        """
        members = devices.members.astype(np.int64)
        for index, (value, array) in enumerate(zip(op.results, results, strict=True)):
            counterpart = self.found.get(value)
            if counterpart is not None and is_array(array):
                results[index] = self._compare(op, index, counterpart, members, array)
        return None if self.cutpoints is None else results

    def _compare(
        self, op: Operation, index: int, counterpart: Counterpart, members: Integers, array: Array
    ) -> Array:
        """Compares all executions of a result; returns it, or what takes its place."""
        series, moved = self._series_of(counterpart)
        renewed = array
        for number, lanes in self._executed(counterpart.series, members):
            found = of_execution(series, members[lanes], number)
            if found is None:
                self.tally.unmatched.add(counterpart.value)
                continue
            whole, whole_lanes = found
            if counterpart.sharding is None and array.shape[1:] != whole.shape[1:]:
                self.tally.unknown.add(counterpart.value)
                continue
            change = of_execution(moved, members[lanes], number)
            part = array if len(array) == 1 or len(lanes) == len(array) else array[lanes]
            one = _One(self, op, index, counterpart, number, members[lanes])
            if self.cutpoints is None:
                one.compare(part, whole, whole_lanes, None if change is None else change[0])
            else:
                after = of_execution(series, members[lanes], number, renewed=True)
                assert after is not None
                renewed = _with_lanes(renewed, lanes, len(members), one.renewed(part, whole, *after))
        if self.cutpoints is not None and renewed is not array:
            self.cutpoints.keep_values(array, renewed)
        return renewed

    def _executed(self, series: tuple[int, int], members: Integers) -> Iterator[tuple[int, Integers]]:
        """Counts an execution on these devices: how often they had executed it before, and their lanes."""
        before = self._executions.get(series, 0)
        if isinstance(before, int):
            if len(members) == self.count:  # all run in lockstep
                self._executions[series] = before + 1
                yield before, np.arange(len(members))
                return
            before = self._executions[series] = np.full(self.count, before)
        execution = before[members]
        before[members] += 1
        for number in np.unique(execution).tolist():
            yield number, np.flatnonzero(execution == number)

    def _series_of(self, counterpart: Counterpart) -> tuple[list[Seen], list[Seen]]:
        known = self._series.get(counterpart.whole)
        if known is None:
            moved = [] if self.moved is None else self.moved.series(counterpart)
            known = self._series[counterpart.whole] = (self.expected.series(counterpart), moved)
        return known

    def shards(self, counterpart: Counterpart, shape: tuple[int, ...], local: tuple[int, ...]) -> Shards:
        """Returns the parts of a tensor. Raises `ShardyError` if parts of that shape do not hold it."""
        sharding = counterpart.sharding
        key = (sharding, shape, local)
        shards = self.parts.get(key)
        if shards is None:
            mesh = None if sharding is None else resolve(sharding.mesh, self.meshes)
            shards = self.parts[key] = Shards.of(sharding, mesh, shape, local, self.count)
        return shards


@dataclass(frozen=True, slots=True, eq=False)
class _One:
    """One comparison: a result of an op, of one execution on some devices."""

    comparison: LocalObserver
    op: Operation
    index: int
    counterpart: Counterpart
    execution: int
    members: Integers

    def renewed(self, part: Array, whole: Array, after: Array, lanes: Integers) -> Array:
        """Returns what takes the place of a part, and notes it if it is wrong.

        whole: before it was replaced. after: what took its place. A movement of the tensor has that already.
        """
        try:
            self.compare(part, whole, lanes, None)
        except WrongValue as error:
            if after is not whole:
                try:
                    self.compare(part, after, lanes, None)
                except WrongValue:
                    pass
                else:
                    return part
            self.comparison.doubtful.setdefault(self.counterpart.value, error.wrong)
        return part if after is whole else self._replaced(part, after, lanes)

    def _replaced(self, part: Array, after: Array, lanes: Integers) -> Array:
        """The part of what took the place of the whole."""
        comparison, pending = self.comparison, self.counterpart.pending
        cutpoints = comparison.cutpoints
        assert cutpoints is not None
        try:
            shards = comparison.shards(self.counterpart, after.shape[1:], part.shape[1:])
        except ShardyError:
            return part
        if pending is None and len(part) == len(after) == 1 and shards.is_whole:
            return after
        wanted = shards.parts(after, lanes, self.members)
        if pending is None and shards.everywhere is None:
            return np.ascontiguousarray(wanted)
        every = np.broadcast_to(part, (len(self.members), *part.shape[1:]))
        wanted = np.broadcast_to(wanted, every.shape)
        if pending is not None:
            reduced = self._reduced(part)
            if reduced is None:
                return part
            wanted = with_sum(cutpoints.arithmetic.field, every, reduced, wanted, self._groups[:, 0])
        return np.where(shards.inside(self.members), wanted, every)

    def compare(self, part: Array, whole: Array, lanes: Integers, moved: Array | None) -> None:
        """Raises `WrongValue`; part: [1 or members, *part]."""
        tally = self.comparison.tally
        pending = self.counterpart.pending
        if pending is not None:
            reduced = self._reduced(part)
            if reduced is None:
                tally.unknown.add(self.counterpart.value)
                return
            part = reduced
        # A bitcast keeps the width of its result, which a copy in the other program may not have.
        if part.dtype != whole.dtype and not (is_float(part.dtype) and is_float(whole.dtype)):
            raise WrongValue(self._wrong("element types differ", expected=whole.dtype, got=part.dtype))
        try:
            shards = self.comparison.shards(self.counterpart, whole.shape[1:], part.shape[1:])
        except ShardyError as error:
            first = error.first
            raise WrongValue(
                self._wrong(first.what or "the part", expected=first.expected, got=first.got)
            ) from None
        is_same = len(part) == 1 and shards.is_whole and (lanes == lanes[0]).all()
        members, lanes = (self.members[:1], lanes[:1]) if is_same else (self.members, lanes)
        wanted = shards.parts(whole, lanes, members)
        is_everywhere = len(self.members) == self.comparison.count
        if self.comparison.arithmetic.is_exact and is_everywhere:
            self._compare_exactly(part, wanted, shards)
            return
        inside = shards.inside(members)
        different, bound = self._different(part, wanted, whole, moved)
        bad = different & inside
        if bad.any():
            raise WrongValue(self._at(bad, part, wanted, shards, bound))
        is_exact = self.comparison.arithmetic.is_exact
        if pending is None and not is_same and len(part) > 1 and not is_exact:
            self._compare_replicas(part, shards, inside, lanes)
        count = np.broadcast(inside, wanted).size if inside.size > 1 else wanted.size * len(members)
        true = int(np.count_nonzero(inside)) * (count // max(inside.size, 1))
        tally.values += 1
        tally.compared.add(self.counterpart.value)
        tally.elements += true
        tally.padded += count - true
        if bound is None:
            tally.exact += true
        else:
            tally.nans += bool(np.isnan(wide(whole)).any())
            if bound > _LOOSE * largest(whole):
                tally.loose.add(self.counterpart.value)

    def _compare_exactly(self, part: Array, wanted: Array, shards: Shards) -> None:
        """Compares the elements on all devices."""
        bad, inside = unequal(part, wanted), shards.everywhere
        if inside is not None:
            bad = bad & inside
        if bad.any():
            raise WrongValue(self._at(bad, part, wanted, shards, None))
        tally = self.comparison.tally
        tally.values += 1
        tally.compared.add(self.counterpart.value)
        tally.elements += shards.true_elements
        tally.exact += shards.true_elements
        tally.padded += shards.devices * prod(shards.local_shape) - shards.true_elements

    def _different(
        self, part: Array, wanted: Array, whole: Array, moved: Array | None
    ) -> tuple[NDArray[np.bool_], float | None]:
        """Which elements differ by more than allowed, and the bound; None: they must be equal."""
        if self.comparison.arithmetic.is_exact:
            return unequal(part, wanted), None
        if not is_float(part.dtype):
            return part != wanted, None
        bound = allowed(whole, moved)
        different = differs(part, wanted, bound, largest(whole))
        tally = self.comparison.tally
        if bound and not different.all():
            distance = np.abs(wide(part) - wide(wanted))
            close = distance[~different & (distance <= bound)]
            tally.largest = max(tally.largest, float(np.max(close, initial=0.0)) / bound)
        return different, bound

    def _compare_replicas(
        self, part: Array, shards: Shards, inside: NDArray[np.bool_], lanes: Integers
    ) -> None:
        """Devices with the same part hold the same bits."""
        place = np.full(self.comparison.count, -1)
        place[self.members] = np.arange(len(self.members))
        first = place[shards.first_holders[self.members]]
        other = np.flatnonzero((first >= 0) & (first != np.arange(len(self.members))))
        other = other[lanes[other] == lanes[first[other]]]
        if not len(other):
            return
        mine, its = part[other], part[first[other]]
        bits = np.dtype(f"V{part.dtype.itemsize}")
        different = np.ascontiguousarray(mine).view(bits) != np.ascontiguousarray(its).view(bits)
        if is_float(part.dtype):
            different &= ~(np.isnan(wide(mine)) & np.isnan(wide(its)))
        different = different & (inside if len(inside) == 1 else inside[other])
        if different.any():
            index = _first(different)
            device, source = int(self.members[other[index[0]]]), int(self.members[first[other[index[0]]]])
            raise WrongValue(
                self._wrong(
                    f"replicas on devices {source} and {device} differ",
                    device=device,
                    at=index[1:],
                    whole_at=shards.global_index(device, index[1:]),
                    expected=str(its[index]),
                    got=str(mine[index]),
                )
            )

    def _reduced(self, part: Array) -> Array | None:
        """The part with its pending reduction done; None if not all devices take part."""
        comparison, pending = self.comparison, self.counterpart.pending
        assert pending is not None
        if self.counterpart.sharding is None or len(self.members) != comparison.count:
            return None
        groups = self._groups
        every = np.broadcast_to(part, (comparison.count, *part.shape[1:]))
        ufunc = comparison.arithmetic.ufunc(COMBINERS[pending.reduction].ufunc)
        reduced = ufunc.reduce(every[groups], 1)
        result = np.empty_like(every)
        result[groups] = reduced[:, None].astype(part.dtype)
        return result

    @property
    def _groups(self) -> Integers:
        """The devices that hold the terms of one reduction."""
        sharding, pending = self.counterpart.sharding, self.counterpart.pending
        assert sharding is not None
        assert pending is not None
        return replica_groups(resolve(sharding.mesh, self.comparison.meshes), pending.axes)

    def _at(
        self, bad: NDArray[np.bool_], part: Array, wanted: Array, shards: Shards, bound: float | None
    ) -> Wrong:
        index = _first(bad)
        lane, at = index[0], index[1:]
        device = int(self.members[lane])
        got = np.broadcast_to(part, bad.shape)[index]
        expected = np.broadcast_to(wanted, bad.shape)[index]
        return self._wrong(
            "wrong value" if bound is None else f"differs by more than {bound:.2g}",
            device=device,
            at=at,
            whole_at=shards.global_index(device, at),
            expected=str(expected),
            got=str(got),
        )

    def _wrong(
        self,
        what: str,
        expected: object = "",
        got: object = "",
        *,
        device: int | None = None,
        at: tuple[int, ...] | None = None,
        whole_at: tuple[int, ...] | None = None,
    ) -> Wrong:
        return Wrong(
            what,
            self.op,
            self.index,
            self.counterpart,
            self.execution,
            device=device,
            at=at,
            whole_at=whole_at,
            expected=str(expected),
            got=str(got),
        )


def unequal(got: Array, expected: Array) -> NDArray[np.bool_]:
    """Returns which elements differ; NaN is equal to NaN."""
    bad = got != expected
    return bad & ~((got != got) & (expected != expected)) if bad.any() else bad


def _with_lanes(array: Array, lanes: Integers, count: int, new: Array) -> Array:
    """The array with another content of some of its lanes."""
    if len(lanes) == count:
        return new
    result = np.broadcast_to(array, (count, *array.shape[1:])).copy()
    result[lanes] = new
    return result


def _first(bad: NDArray[np.bool_]) -> tuple[int, ...]:
    return tuple(int(i) for i in np.unravel_index(int(np.argmax(bad)), bad.shape))
