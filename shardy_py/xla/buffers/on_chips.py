"""The values that a planned function stores on a chip: one block for the reports on memory and time.

    chip_block(program, function, "tpu").scheduled()

Not here: which values are stored (`stored.py`), programs as the compiler of a GPU changes them (`gpu/`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from xdsl.dialects.func import FuncOp

from shardy_py.indexing.layout.formats import Target
from shardy_py.xla.buffers.local_sizes import LocalSizes
from shardy_py.xla.buffers.settings import CompileSetting
from shardy_py.xla.buffers.stored import StoredBlock
from shardy_py.xla.spmd.from_program import SpmdProgram
from shardy_py.xla.spmd.walk import Sent


def chip_block(program: SpmdProgram, function: FuncOp, target: Target) -> StoredBlock:
    """Returns the block of a function of a program as partitioned: the same one for all reports.

    Raises:
        ShardyError: a tensor has a dynamic shape, or a mesh has too many devices to list them.
    """
    key = StoredBlock, function, target
    known = program.kept.get(key)
    if not isinstance(known, StoredBlock):
        block, plan = program.planned(function)
        again = {each.collective.key: id(each.step) for each in plan.merged}
        setting = CompileSetting(on_host=False, target=target)
        sent, merged = by_step(plan.sent), by_step(plan.merged)
        known = StoredBlock(block, sent, again, setting, LocalSizes(target), merged)
        program.kept[key] = known
    return known


def by_step(sent: Iterable[Sent]) -> dict[int, list[Sent]]:
    """Returns collectives by the identity of their step."""
    found: dict[int, list[Sent]] = defaultdict(list)
    for each in sent:
        found[id(each.step)].append(each)
    return found
