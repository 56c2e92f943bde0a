"""The buffers that XLA assigned, as `--xla_dump_to` writes them: `NAME-buffer-assignment.txt`.

    allocation 0: size 64, parameter 0, shape |f32[16]| at ShapeIndex {}:
     value: <2 p @0> (size=64,offset=0): f32[16]{0}

>>> text = "allocation 0: size 64, parameter 0:\\nallocation 1: size 8, preallocated-temp:\\n"
>>> read_assignment(text).total_bytes
72
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from shardy_py.base.errors import ShardyError
from shardy_py.base.records import dataclass
from shardy_py.hlo.buffers.model import AllocatedMemory, HeldBuffer

_ALLOCATION = re.compile(r"allocation \d+: size (\d{1,18})(?:, (.*))?")
_VALUE = re.compile(r"\s*value: <\d+ ([^\s{>]+)\S* @\d+> \(size=(\d{1,18}),offset=(\d{1,18})\)")
_COLOR = re.compile(r"\bcolor (\d+)\b")
_SHOWN = 10


@dataclass(frozen=True, slots=True)
class _Value:
    size: int
    offset: int
    name: str


@dataclass(frozen=True, slots=True)
class _Allocation:
    """An allocation: its bytes, the words of its line, and the values in it."""

    size: int
    words: str
    values: tuple[_Value, ...]

    def has(self, word: str) -> bool:
        return word in self.words

    @property
    def is_counted(self) -> bool:
        """True if it is in the memory of the device, and of this program alone."""
        color = _COLOR.search(self.words)
        return (
            not self.has("constant") and not self.has("thread-local") and (color is None or color[1] == "0")
        )


def read_assignment(text: str) -> AllocatedMemory:
    """Returns the memory of a program, given its buffer assignment.

    Raises:
        ShardyError: the text has no allocations.
    """
    found = [each for each in _allocations(text) if each.is_counted]
    if not found:
        raise ShardyError.unexpected("", expected="a buffer assignment of XLA", got="no allocations")
    given = [each for each in found if each.has("parameter")]
    live_out = [each for each in found if each.has("maybe-live-out")]
    both = sum(each.size for each in given if each.has("maybe-live-out"))
    others = [each for each in found if not each.has("parameter") and not each.has("maybe-live-out")]
    return AllocatedMemory(
        "the buffer assignment of XLA",
        sum(each.size for each in given),
        sum(each.size for each in live_out),
        both,
        sum(each.size for each in others),
        _largest(each for each in found if not each.has("parameter")),
    )


def _allocations(text: str) -> Iterator[_Allocation]:
    size, words, values = -1, "", list[_Value]()
    for line in text.splitlines():
        if found := _ALLOCATION.match(line):
            if size >= 0:
                yield _Allocation(size, words, tuple(values))
            size, words, values = int(found[1]), found[2] or "", []
        elif value := _VALUE.match(line):
            values.append(_Value(int(value[2]), int(value[3]), value[1]))
        elif line and not line[0].isspace() and size >= 0:
            break
    if size >= 0:
        yield _Allocation(size, words, tuple(values))


def _largest(allocations: Iterable[_Allocation]) -> tuple[HeldBuffer, ...]:
    """The largest values that may be held at one time: no two of them share memory."""
    found: list[HeldBuffer] = []
    for each in allocations:
        taken: list[_Value] = []
        for value in sorted(each.values, key=lambda value: (-value.size, value.offset)):
            if len(taken) == _SHOWN:
                break
            if all(value.offset >= o.offset + o.size or o.offset >= value.offset + value.size for o in taken):
                taken.append(value)
        found += (HeldBuffer(value.size, value.name) for value in taken)
    return tuple(sorted(found, key=lambda each: -each.bytes)[:_SHOWN])
