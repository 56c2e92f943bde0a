"""The memory of a compiled program by the order of its instructions: `memory_of`.

Each instruction has a buffer for what it makes until its last use; what only names, moves or updates a value
shares that of its operand. Memory is taken to have no gaps, so that this is what is live, as XLA's peak is.
Not here: what XLA assigned (`assignment.py`).

>>> from shardy_py.hlo.text import read_module
>>> memory_of(read_module('''HloModule m, is_scheduled=true
... ENTRY main {
...   p = f32[4] parameter(0)
...   a = f32[4] sine(p)
...   ROOT b = f32[2] slice(a), slice={[0:2]}
... }''')).temporaries
16
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate

from shardy_py.base.records import dataclass
from shardy_py.hlo.buffers.model import AllocatedMemory, HeldBuffer
from shardy_py.hlo.collectives.flow import Flow
from shardy_py.hlo.collectives.model import shape_bytes
from shardy_py.hlo.collectives.platform import platform_of
from shardy_py.hlo.text import OPCODES, Computation, HloModule, Instruction, Shape
from shardy_py.ops import TABLE

_UPDATES = frozenset(("dynamic-update-slice", "scatter"))
_SHARING = frozenset(("bitcast", "opt-barrier", "add-dependency", "domain", "while", *_UPDATES))
"""Opcodes whose result is in the memory of the first operand."""
_IN_PLACE = frozenset(("all-reduce", "all-reduce-start"))
"""Opcodes whose results are in the memory of their operands, but on hosts."""
_FREE = frozenset(("constant", "after-all", "partition-id", "replica-id"))
_ALIAS = re.compile(r"\{([\d,\s]*)\}:\s*\((\d{1,9}),\s*\{([\d,\s]*)\}")
_SHOWN = 10
Leaves = tuple[int, ...]
"""The buffer of each array of a value; -1: of none that is counted."""


@dataclass(frozen=True, slots=True)
class _Held:
    """The most bytes that a computation holds beside what it is given, and the buffers then."""

    bytes: int = 0
    buffers: tuple[HeldBuffer, ...] = ()


def memory_of(module: HloModule) -> AllocatedMemory:
    """Returns the memory of a program by its schedule, without padding."""
    flow, is_device = Flow(module), platform_of(module) != "cpu"
    held: dict[str, _Held] = {}
    for computation in module.computations:  # each after those it calls
        if computation.name in flow.runs and computation.name != module.entry:
            held[computation.name] = _Lifetimes(computation, flow, held, is_device=is_device).most()
    entry = module.entry_computation
    most = _Lifetimes(entry, flow, held, is_device=is_device).most()
    arguments = sum(shape_bytes(each.shape) for each in entry.parameters)
    results = shape_bytes(entry.by_name[entry.root].shape)
    aliased = _aliased(module, entry)
    by = "the schedule" if module.is_scheduled else "the order of instructions"
    temporaries = max(most.bytes - (results - aliased), 0)  # what is needed before is in memory of results
    return AllocatedMemory(by, arguments, results, aliased, temporaries, most.buffers)


class _Lifetimes:
    """The lifetimes of the buffers of one computation."""

    def __init__(
        self, computation: Computation, flow: Flow, held: Mapping[str, _Held], *, is_device: bool
    ) -> None:
        self.computation, self.flow, self.held = computation, flow, held
        self.is_device = is_device
        self.sizes: list[int] = []
        self.names: list[str] = []
        self.of: dict[str, Leaves] = {}
        self.starts: list[int] = []
        self._ends: dict[str, int] = {}
        self._sent: dict[str, int] = {}
        self._offsets: dict[str, list[int]] = {}

    def most(self) -> _Held:
        instructions = self.computation.instructions
        self._ends = {name: place for place, each in enumerate(instructions) for name in each.operands}
        for place, each in enumerate(instructions):
            self.of[each.name] = self._leaves(each, place)
        kept = {buffer for buffer in self.of[self.computation.root] if buffer >= 0}
        last = [*self.starts]
        for place, each in enumerate(instructions):
            # an element of a tuple is all that is read of it
            read = (each.name,) if each.opcode == "get-tuple-element" else each.operands
            for buffer in (buffer for name in read for buffer in self.of[name] if buffer >= 0):
                last[buffer] = place
        begun, ended = _by_place(self.starts), _by_place(last)
        now, most, peak = 0, 0, -1
        for place, each in enumerate(instructions):
            now += sum(self.sizes[buffer] for buffer in begun.get(place, ()))
            inside = self._inside(each).bytes
            if now + inside > most:
                most, peak = now + inside, place
            now -= sum(self.sizes[buffer] for buffer in ended.get(place, ()) if buffer not in kept)
        if peak < 0:
            return _Held()
        live = (
            buffer
            for buffer, start in enumerate(self.starts)
            if start <= peak and (buffer in kept or last[buffer] >= peak)
        )
        own = (HeldBuffer(self.sizes[buffer], self.names[buffer]) for buffer in live)
        return _Held(most, _largest((*own, *self._inside(instructions[peak]).buffers)))

    def _leaves(self, made: Instruction, place: int) -> Leaves:
        before = [self.of[name] for name in made.operands]
        count = _count(made.shape)
        if made.opcode == "tuple":
            return tuple(buffer for each in before for buffer in each)
        if made.opcode == "get-tuple-element":
            return self._element(made, before[0])
        if made.opcode in _FREE or made.opcode == "parameter":
            return (-1,) * count
        given = tuple(buffer for each in before for buffer in each)
        if made.opcode in _IN_PLACE and self.is_device and len(given) == count:
            return given
        if made.opcode.endswith("-done") and before:
            # what is received stands behind what is sent, but for copies
            first = 0 if made.opcode == "copy-done" else self._sent.get(made.operands[0], 0)
            return before[0][first : first + count] if first + count <= len(before[0]) else before[0][:count]
        if made.opcode.endswith("-start") and made.opcode != "copy-start" and len(given) <= count:
            self._sent[made.name] = len(given)
            rest = [*made.shape.leaves()][len(given) :]
            return (*given, *(self._buffer(shape, made.name, place) for shape in rest))
        if before and self._shares(made, before[0], place):
            return before[0]
        return tuple(self._buffer(shape, made.name, place) for shape in made.shape.leaves())

    def _element(self, made: Instruction, leaves: Leaves) -> Leaves:
        of, index = self.computation.by_name[made.operands[0]], made.attributes.get("index")
        if of.name not in self._offsets:
            self._offsets[of.name] = [0, *accumulate(_count(part) for part in of.shape.parts)]
        offsets = self._offsets[of.name]
        if not isinstance(index, int) or not 0 <= index < len(offsets) - 1:
            return (-1,) * _count(made.shape)
        return leaves[offsets[index] : offsets[index + 1]]

    def _shares(self, made: Instruction, first: Leaves, place: int) -> bool:
        """True if a value is in the memory of the first operand: as an update, or as that is read last."""
        if len(first) != _count(made.shape):
            return False
        inner = self.flow.fused(made)
        root = None if inner is None else inner.by_name[inner.root]
        if made.opcode in _SHARING or (root is not None and root.opcode in _UPDATES):
            return True
        is_loop = made.attributes.get("kind") == "kLoop" or _is_elementwise(made.opcode)
        is_last = self._ends.get(made.operands[0]) == place and first[0] >= 0
        return is_loop and is_last and self.sizes[first[0]] == shape_bytes(made.shape)

    def _buffer(self, shape: Shape, name: str, place: int) -> int:
        space = 0 if shape.layout is None else shape.layout.memory_space
        if space:
            return -1
        self.sizes.append(shape_bytes(shape))
        self.names.append(name)
        self.starts.append(place)
        return len(self.sizes) - 1

    def _inside(self, made: Instruction) -> _Held:
        if made.opcode not in ("while", "conditional", "call"):
            return _Held()
        called = [self.held.get(inner.name, _Held()) for inner, _ in self.flow.called(self.computation, made)]
        return max(called, key=lambda each: each.bytes, default=_Held())


def _is_elementwise(opcode: str) -> bool:
    row = OPCODES.get(opcode)
    return row is not None and TABLE[row.name].arity > 0


def _count(shape: Shape) -> int:
    return sum(1 for _ in shape.leaves())


def _by_place(places: Sequence[int]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for buffer, place in enumerate(places):
        found.setdefault(place, []).append(buffer)
    return found


def _largest(buffers: Iterable[HeldBuffer]) -> tuple[HeldBuffer, ...]:
    return tuple(sorted(buffers, key=lambda each: -each.bytes)[:_SHOWN])


def _aliased(module: HloModule, entry: Computation) -> int:
    """The bytes of results in the memory of arguments."""
    text = module.attributes.get("input_output_alias", "")
    root = entry.by_name[entry.root].shape
    total = 0
    for output, _, _ in _ALIAS.findall(text):
        shape: Shape | None = root
        for index in (int(each) for each in output.replace(" ", "").split(",") if each):
            shape = shape.parts[index] if shape is not None and index < len(shape.parts) else None
        total += 0 if shape is None else shape_bytes(shape)
    return total
