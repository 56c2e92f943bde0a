"""The collectives in the HLO that a device's compiler made, as devices send them.

Loops count by their trips. A fusion `all-reduce-scatter` of XLA:TPU is a reduce-scatter; its asynchronous
gathers, each a chain of fusions, count once. Not here: the HLO reader (`hlo/text/`).

>>> text = '''HloModule m
... ENTRY main {
...   p = f32[4] parameter(0)
...   ROOT g = f32[16] all-gather(p), replica_groups={{0,1,2,3}}, dimensions={0}
... }'''
>>> [(each.kind, each.runs, each.result_bytes) for each in sent_by_compiler(read_module(text))]
[('all_gather', 1, 64)]
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Final

from shardy_py.hlo.text import Computation, HloModule, Instruction, Shape, leaf_types, read_module
from shardy_py.hlo.text.frontend import entries
from shardy_py.hlo.to_stablehlo.locations import Locations
from shardy_py.indexing.layout import element_type
from shardy_py.mlir.location_names import location_text

__all__ = ["SentByCompiler", "read_module", "sent_by_compiler"]

Lines = tuple[str, ...]
_KINDS: Final = (
    *("all-gather", "all-reduce", "reduce-scatter", "all-to-all", "collective-permute"),
    *("ragged-all-to-all", "collective-broadcast"),
)
_CALLS: Final = ("calls", "to_apply", "branch_computations", "true_computation", "false_computation")
_TRIPS = re.compile(r'known_trip_count":\{"n":"(\d+)"')
_SYNCHRONOUS = '"is_sync":true'
_CHAIN = "chain_id"
_STARTS = "AsyncCollectiveStart"
_SCATTERS = "all-reduce-scatter"
_FUSED_SOURCES = 2
"""Instructions that are looked through for the lines of one without."""


@dataclass(frozen=True, slots=True)
class SentByCompiler:
    """A collective op of the final program.

    result_bytes: of one run. is_overlapped: whether other ops run between its start and its end, as far as
    the text says. lines: the places in the source of what it sends.
    """

    kind: str
    name: str
    runs: int
    result_bytes: int
    is_overlapped: bool
    lines: Lines = ()


def sent_by_compiler(module: HloModule) -> tuple[SentByCompiler, ...]:
    """Returns the collectives of a program that a compiler made."""
    reader = _Reader(module)
    return tuple(reader.sent(module.entry_computation, 1, ()))


class _Reader:
    def __init__(self, module: HloModule) -> None:
        self.module = module
        self.locations = Locations(module)

    def sent(self, computation: Computation, runs: int, lines: Lines) -> Iterator[SentByCompiler]:
        """The collectives of a computation. lines: of the instruction that calls it."""
        is_scatter = computation.name.startswith(_SCATTERS)
        starts = any(_STARTS in str(each.attributes) for each in computation.instructions)
        for each in computation.instructions:
            kind = each.opcode.removesuffix("-start")
            if kind in _KINDS and (starts or _CHAIN not in str(each.attributes)):
                one = self._one(each, computation, kind, runs, is_scatter=is_scatter, is_chain=starts)
                yield one if one.lines else replace(one, lines=lines)
            times = runs * (self._trips(each) if each.opcode == "while" else 1)
            own = self._line(each)
            for name in _called(each):
                inner = self.module.by_name.get(name)
                if inner is not None and kind not in _KINDS:
                    yield from self.sent(inner, times, (own,) if own else lines)

    def _one(
        self,
        instruction: Instruction,
        computation: Computation,
        kind: str,
        runs: int,
        *,
        is_scatter: bool,
        is_chain: bool,
    ) -> SentByCompiler:
        made = instruction
        if is_scatter and kind == "all-reduce":
            kind, made = "reduce-scatter", computation.by_name[computation.root]
        is_started = instruction.opcode.endswith("-start")
        shapes = [*made.shape.leaves()]
        if is_started and made.shape.is_tuple and kind != "all-reduce":
            arrays = [shape for shape in shapes if shape.sizes or shape.element not in ("u32", "s32")]
            shapes = arrays[len(arrays) // 2 :]
        settings = str(instruction.attributes.get("backend_config", ""))
        return SentByCompiler(
            kind.replace("-", "_"),
            instruction.name,
            runs,
            sum(map(_bytes, shapes)),
            is_chain or (is_started and _SYNCHRONOUS not in settings),
            tuple(dict.fromkeys(self._lines(instruction, computation))),
        )

    def _trips(self, loop: Instruction) -> int:
        """How often a loop runs: its known count, else the constant that its condition has, or 1."""
        known = _TRIPS.search(str(loop.attributes.get("backend_config", "")))
        if known is not None:
            return int(known[1])
        condition = self.module.by_name.get(str(loop.attributes.get("condition", "")))
        if condition is None:
            return 1
        return max(self._constants(condition), default=1)

    def _constants(self, computation: Computation) -> Iterator[int]:
        for each in computation.instructions:
            if (
                each.opcode == "constant"
                and isinstance(each.literal, str)
                and each.literal.strip().isdecimal()
            ):
                yield int(each.literal)
            for name in _called(each):
                if name in self.module.by_name:
                    yield from self._constants(self.module.by_name[name])

    def _lines(self, instruction: Instruction, computation: Computation, deep: int = 0) -> Iterator[str]:
        """The lines of an instruction; without any, those of what it reads."""
        own = self._line(instruction)
        if own:
            yield own
            return
        for name in _called(instruction) if instruction.opcode == "fusion" else ():
            for each in self.module.by_name[name].instructions:
                if line := self._line(each):
                    yield line
        if deep < _FUSED_SOURCES:
            for name in instruction.operands:
                yield from self._lines(computation.by_name[name], computation, deep + 1)

    def _line(self, instruction: Instruction) -> str:
        metadata = entries(str(instruction.attributes.get("metadata", "{}")))
        if not metadata.get("stack_frame_id") and not metadata.get("source_file"):
            return ""
        return location_text(self.locations.of(instruction))


def _called(instruction: Instruction) -> Sequence[str]:
    """The names of the computations that an instruction runs."""
    found: list[str] = []
    names = ("condition", "body") if instruction.opcode == "while" else _CALLS
    for name in names:
        value = instruction.attributes.get(name)
        if value is not None:
            found += _names(value)
    return found


def _names(value: object) -> Iterable[str]:
    return re.findall(r"[\w.\-]+", str(value))


def _bytes(shape: Shape) -> int:
    (type_,) = leaf_types(shape)
    if type_ is None:
        return 0
    return -(-prod(size or 0 for size in type_.shape) * element_type(type_.element).bits // 8)
