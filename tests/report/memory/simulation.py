"""Programs run event by event, with every array an object: an oracle that knows neither last uses nor sums.

At each event the arrays alive are those that it touches, those pinned, and those that any step to come, in
any computation on the way, reads or returns; found by looking at all of these steps.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from shardy_py.xla.buffers.liveness import MemoryComputation, MemoryStep, NestedComputation


@dataclass(eq=False)
class Array:
    size: int


@dataclass
class Frame:
    computation: MemoryComputation
    arrays: dict[int, Array]
    next_step: int = 0
    pinned: list[Array] = field(default_factory=list[Array])


class Simulation:
    def __init__(self, computations: list[MemoryComputation], sizes: list[int]) -> None:
        self.computations = computations
        self.sizes = sizes
        self.frames: list[Frame] = []
        self.peak = 0

    def run(self, computation: int, donated: list[bool]) -> int:
        arguments = [Array(self.sizes[value]) for value in self.computations[computation].arguments]
        pinned = [array for array, is_donated in zip(arguments, donated, strict=True) if not is_donated]
        self.execute(computation, arguments, pinned)
        return self.peak

    def execute(self, index: int, arguments: list[Array], pinned: list[Array]) -> list[Array]:
        computation = self.computations[index]
        arrays = dict(zip(computation.arguments, arguments, strict=True))
        frame = Frame(computation, arrays, 0, pinned)
        self.frames.append(frame)
        self.event(arguments)
        for step in computation.steps:
            frame.next_step += 1
            self.step(frame, step)
        self.frames.pop()
        return [arrays[value] for value in computation.returns]

    def step(self, frame: Frame, step: MemoryStep) -> None:
        reads = [self.array(value) for value in step.reads]
        later = self.needed_later()
        for operand, result in step.updates:
            array = self.array(operand)
            dies = array not in later and step.reads.count(operand) == 1
            if dies and self.sizes[operand] == self.sizes[result]:
                frame.arrays[result] = array
        if step.runs is None:
            self.make(frame, step)
            self.event([*reads, *(frame.arrays[value] for value in step.makes)])
        elif step.runs.is_loop:
            self.make(frame, step)
            self.loop(frame, step, reads)
        else:
            returned: list[Array] = []
            for nested in step.runs.nested:
                returned = self.run_nested(frame, step, nested, reads)
            frame.arrays.update(zip(step.makes, returned, strict=True))
            self.event([frame.arrays[value] for value in step.makes])

    def run_nested(
        self, frame: Frame, step: MemoryStep, nested: NestedComputation, reads: list[Array]
    ) -> list[Array]:
        later = self.needed_later()
        arguments: list[Array] = []
        handed_over: list[Array] = []
        for outer, inner in zip(
            nested.arguments, self.computations[nested.computation].arguments, strict=True
        ):
            if outer is None:
                arguments.append(Array(self.sizes[inner]))
                continue
            arguments.append(self.array(outer))
            if step.reads.count(outer) == 1 and arguments[-1] not in later:
                handed_over.append(arguments[-1])
        return self.execute(
            nested.computation, arguments, [array for array in reads if array not in handed_over]
        )

    def loop(self, frame: Frame, step: MemoryStep, reads: list[Array]) -> None:
        assert step.runs is not None
        condition, body = step.runs.nested
        carried = [frame.arrays.pop(value) for value in step.makes]
        self.event([*reads, *carried])
        held = [array for array in reads if array not in carried]
        self.execute(condition.computation, carried, held + carried)
        returned = self.execute(body.computation, carried, held)
        frame.arrays.update(zip(step.makes, returned, strict=True))

    def make(self, frame: Frame, step: MemoryStep) -> None:
        for value in step.makes:
            frame.arrays.setdefault(value, Array(self.sizes[value]))

    def array(self, value: int) -> Array:
        return next(frame.arrays[value] for frame in reversed(self.frames) if value in frame.arrays)

    def needed_later(self) -> list[Array]:
        found: list[Array] = []
        for frame in self.frames:
            found += frame.pinned
            for step in frame.computation.steps[frame.next_step :]:
                found += [self.array(value) for value in step.reads if self.has(value)]
            found += [frame.arrays[value] for value in frame.computation.returns if value in frame.arrays]
        return found

    def has(self, value: int) -> bool:
        return any(value in frame.arrays for frame in self.frames)

    def event(self, touched: list[Array]) -> None:
        alive = {id(array): array.size for array in (*touched, *self.needed_later())}
        self.peak = max(self.peak, sum(alive.values()))
