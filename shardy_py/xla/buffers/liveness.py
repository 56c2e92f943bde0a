"""Liveness: one sweep over the steps of a program in order.

Values are numbers, one an array in memory; two names of the same array (an optimization barrier and its
operand) are one number. A value is alive from the step that makes it to the last one that reads it; at a
step, the values it reads and makes are alive together. Values of nested computations add to those alive
around them. docs/memory.md describes the model. Not here: building the program from IR (`collect.py`).

>>> steps = (MemoryStep((0,), (1,)), MemoryStep((1,), (2,)), MemoryStep((2,), (3,)))
>>> peak = LivenessAnalysis((MemoryComputation((0,), steps, (3,)),), [8, 100, 10, 1]).peak(0, [False])
>>> peak.size_bytes, peak.alive, peak.place
(118, (0, 1, 2), ((0, 1),))
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import IntEnum
from typing import Literal, NamedTuple, cast

from shardy_py.base.errors import ShardyError
from shardy_py.base.records import dataclass

ENTRY = -1
"""The step number before the first step."""


@dataclass(frozen=True, slots=True)
class NestedComputation:
    """A computation that an op runs: a branch, the body of a loop, a callee.

    computation: its index in the program.
    arguments: for each argument of the computation, the outer value that becomes it; None: a copy of one,
        made on entry.
    handed_over: whether the life of an argument ends in the computation. "never": the outer computation keeps
        it; "always": the computation owns it; "last use": the computation owns it if the op reads it last.
    """

    computation: int
    arguments: tuple[int | None, ...] = ()
    handed_over: Literal["never", "always", "last use"] = "last use"


@dataclass(frozen=True, slots=True)
class Runs:
    """The computations that an op runs, one at a time.

    is_loop: whether the results exist before the computations run, as the values carried through iterations.
    """

    nested: tuple[NestedComputation, ...]
    is_loop: bool = False


class MemoryStep(NamedTuple):
    """One op.

    reads: the values it reads, including those that its regions capture.
    makes: the values it makes.
    updates: pairs of a value read and one made that takes its place, if the first is not read later.
    """

    reads: tuple[int, ...]
    makes: tuple[int, ...]
    updates: tuple[tuple[int, int], ...] = ()
    runs: Runs | None = None

    @property
    def nested(self) -> tuple[NestedComputation, ...]:
        """The computations that it runs."""
        return () if self.runs is None else self.runs.nested


@dataclass(frozen=True, slots=True)
class MemoryComputation:
    """Steps in order; `arguments` exist before the first one, `returns` after the last one."""

    arguments: tuple[int, ...]
    steps: tuple[MemoryStep, ...]
    returns: tuple[int, ...] = ()


class Owner(IntEnum):
    """The owner of an argument of a computation.

    OUTSIDE: the argument is alive throughout.
    COMPUTATION: it was handed over and dies after its last use.
    COPY: the same, and it is not counted outside.
    """

    OUTSIDE = 0
    COMPUTATION = 1
    COPY = 2


@dataclass(frozen=True, slots=True)
class Peak:
    """The moment with most bytes alive, the first one of several.

    alive: the values alive then, by number.
    place: pairs of a computation and the step in it, the outermost first; `ENTRY` is before the first step.
    """

    size_bytes: int
    alive: tuple[int, ...]
    place: tuple[tuple[int, int], ...]


class _Moment(NamedTuple):
    """A moment of one computation: bytes beyond those at its entry, and the nested computation it is in."""

    extra_bytes: int
    step: int
    inner: tuple[NestedComputation, tuple[Owner, ...]] | None = None


_Run = tuple[int, tuple[Owner, ...]]
"""A computation by its number, with the owners of its arguments."""


class LivenessAnalysis:
    """Peaks of computations, each swept once for every combination of owners; sizes: bytes of values."""

    def __init__(self, computations: Sequence[MemoryComputation], sizes: Sequence[int]) -> None:
        self._computations = computations
        self._sizes = sizes
        self._moments: dict[_Run, _Moment | None] = {}

    def peak_bytes(self, computation: int, donated: Sequence[bool]) -> int:
        """Returns the bytes of `peak` alone."""
        owners = tuple(Owner.COMPUTATION if is_donated else Owner.OUTSIDE for is_donated in donated)
        arguments = self._computations[computation].arguments
        extra_bytes = self._moment(computation, owners).extra_bytes
        return extra_bytes + sum([self._sizes[argument] for argument in arguments])

    def peak(self, computation: int, donated: Sequence[bool]) -> Peak:
        """Returns the peak of an outermost computation; arguments not donated are alive throughout.

        Raises:
            ShardyError: a computation runs itself.
        """
        owners = tuple(Owner.COMPUTATION if is_donated else Owner.OUTSIDE for is_donated in donated)
        arguments = self._computations[computation].arguments
        kept = [a for a, owner in zip(arguments, owners, strict=True) if owner is Owner.OUTSIDE]
        place: list[tuple[int, int]] = []
        alive = self._alive(computation, owners, {}, place)
        return Peak(self.peak_bytes(computation, donated), tuple(sorted((*kept, *alive))), tuple(place))

    def _moment(self, index: int, owners: tuple[Owner, ...]) -> _Moment:
        key = (index, owners)
        if key not in self._moments:
            self._measure(key)
        found = self._moments[key]
        if found is None:
            raise ShardyError.unsupported("a function calls itself: memory use of recursive functions")
        return found

    def _measure(self, first: _Run) -> None:
        """Enters the highest moment of a computation, and before it those of all that it runs.

        Without recursion, whose depth through generators Python limits from 3.12 on.
        """
        running: list[tuple[_Run, Iterator[_Moment | _Run]]] = [(first, self._begun(first))]
        highest: dict[_Run, _Moment] = {}
        while running:
            key, sweep = running[-1]
            for found in sweep:
                if not isinstance(found, _Moment):
                    running.append((found, self._begun(found)))
                    break
                if key not in highest or found.extra_bytes > highest[key].extra_bytes:
                    highest[key] = found
            else:
                self._moments[key] = highest.pop(key)
                running.pop()

    def _begun(self, key: _Run) -> Iterator[_Moment | _Run]:
        """Marks a computation as running, and returns its moments."""
        self._moments[key] = None
        frame = _Frame(self._computations[key[0]], key[1], self._sizes)
        return self._sweep(frame) if _runs_others(frame) else iter((_highest(frame),))

    def _sweep(self, frame: _Frame) -> Iterator[_Moment | _Run]:
        """Returns the moments of a computation at which most may be alive, with `frame` at each of them.

        Between them is what it runs and must be measured for it to go on.
        """
        yield _Moment(frame.extra_bytes, ENTRY)
        frame.leave_entry()
        for number, step in enumerate(frame.computation.steps):
            frame.update(number, step)
            if step.runs is not None:
                if step.runs.is_loop:
                    frame.make(step)
                for nested in step.nested:
                    owners = frame.owners(number, step, nested)
                    if (nested.computation, owners) not in self._moments:
                        yield nested.computation, owners
                    extra = frame.extra_bytes + self._moment(nested.computation, owners).extra_bytes
                    yield _Moment(extra, number, (nested, owners))
            frame.run(number, step)
            frame.make(step)
            yield _Moment(frame.extra_bytes, number)
            frame.leave(number, step)

    def _alive(
        self, index: int, owners: tuple[Owner, ...], outside: Mapping[int, int], place: list[tuple[int, int]]
    ) -> list[int]:
        """Returns the values of the computation alive at its peak.

        outside: the outer values of arguments. place: receives the place of the peak.
        """
        moment = self._moment(index, owners)
        place.append((index, moment.step))
        frame = _Frame(self._computations[index], owners, self._sizes)
        if _runs_others(frame):
            next(reached for reached in self._sweep(frame) if reached == moment)
        else:
            _highest(frame, moment.step)
        if moment.inner is None:
            return [outside.get(value, value) for value in frame.alive]
        nested, inner_owners = moment.inner
        arguments = self._computations[nested.computation].arguments
        pairs = zip(arguments, nested.arguments, inner_owners, strict=True)
        given = {a: v for a, v, owner in pairs if v is not None and owner is Owner.COMPUTATION}
        kept = frame.alive.keys() - given.values()
        inner = self._alive(nested.computation, inner_owners, given, place)
        return [outside.get(value, value) for value in (*kept, *inner)]


def _runs_others(frame: _Frame) -> bool:
    """True if some step runs a computation."""
    return any(step.runs for step in frame.computation.steps)


def _highest(frame: _Frame, until: int | None = None) -> _Moment:
    """Sweeps a computation whose steps run no others; returns the first moment with most bytes alive.

    until: the step within which it ends, with what is alive then; None: that of the last step.
    One loop for what `LivenessAnalysis._sweep` does in general: a study sweeps thousands of large programs.
    """
    alive, sizes, last_use = frame.alive, frame.sizes, frame.last_use
    highest, place = frame.extra_bytes, ENTRY
    if until == ENTRY:
        return _Moment(highest, place)
    frame.leave_entry()
    extra = frame.extra_bytes
    for number, step in enumerate(frame.computation.steps):
        reads, makes, updates, _ = step
        if updates:
            frame.update(number, step)
        for value in makes:
            if value not in alive:
                alive[value] = None
                extra += sizes[value]
        if extra > highest:
            highest, place = extra, number
        if number == until:
            break
        for value in reads:
            if last_use[value] == number and value in alive:
                del alive[value]
                extra -= sizes[value]
        for value in makes:
            if value not in last_use and value in alive:
                del alive[value]
                extra -= sizes[value]
    return _Moment(highest, place)


class _Frame:
    """A computation being swept.

    alive: the values whose lives end in this computation. extra_bytes: bytes beyond those at the entry.
    """

    def __init__(self, computation: MemoryComputation, owners: Sequence[Owner], sizes: Sequence[int]) -> None:
        self.computation = computation
        self.sizes = sizes
        self.alive: dict[int, None] = {}
        self.extra_bytes = 0
        self.last_use: dict[int, int] = {}
        for number, step in enumerate(computation.steps):
            for value in step.reads:
                self.last_use[value] = number
        self.last_use.update(dict.fromkeys(computation.returns, len(computation.steps)))
        for argument, owner in zip(computation.arguments, owners, strict=True):
            if owner is not Owner.OUTSIDE:
                self.alive[argument] = None
            if owner is Owner.COPY:
                self.extra_bytes += sizes[argument]

    def leave_entry(self) -> None:
        """Ends the lives of unused arguments."""
        for argument in self.computation.arguments:
            if argument not in self.last_use:
                self._end(argument)

    def update(self, number: int, step: MemoryStep) -> None:
        """Puts results in the places of operands that die here."""
        for operand, result in step.updates:
            if self.sizes[operand] == self.sizes[result] and self._dies(number, step, operand):
                del self.alive[operand]
                self.alive[result] = None

    def run(self, number: int, step: MemoryStep) -> None:
        """Ends the lives of values handed over to computations that the step has run."""
        if step.runs is not None and not step.runs.is_loop:
            for nested in step.nested:
                pairs = zip(nested.arguments, self.owners(number, step, nested), strict=True)
                for value in [value for value, owner in pairs if owner is Owner.COMPUTATION]:
                    self._end(cast(int, value))

    def make(self, step: MemoryStep) -> None:
        """Starts the lives of results that are not alive yet."""
        for value in step.makes:
            if value not in self.alive:
                self.alive[value] = None
                self.extra_bytes += self.sizes[value]

    def leave(self, number: int, step: MemoryStep) -> None:
        """Ends the lives of values not read after this step."""
        last_use = self.last_use
        for value in step.reads:
            if last_use[value] == number:
                self._end(value)
        for value in step.makes:
            if value not in last_use:
                self._end(value)

    def owners(self, number: int, step: MemoryStep, nested: NestedComputation) -> tuple[Owner, ...]:
        """Returns the owners of the arguments of a computation that the step runs."""
        if nested.handed_over != "last use":
            owner = Owner.COMPUTATION if nested.handed_over == "always" else Owner.OUTSIDE
            return (owner,) * len(nested.arguments)
        dying = (value is None or self._dies(number, step, value) for value in nested.arguments)
        pairs = zip(nested.arguments, dying, strict=True)
        return tuple(Owner.COPY if value is None else Owner(dies) for value, dies in pairs)

    def _dies(self, number: int, step: MemoryStep, value: int) -> bool:
        """Returns whether the computation owns the value, and the step reads it last, and once."""
        return self.last_use[value] == number and value in self.alive and step.reads.count(value) == 1

    def _end(self, value: int) -> None:
        if value in self.alive:
            del self.alive[value]
            self.extra_bytes -= self.sizes[value]
