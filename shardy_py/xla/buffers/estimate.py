"""An estimate of what XLA allocates on each device, beside the upper bound of `report.py`.

The values that are stored (`stored.py`) after fusion (`fusion.py`), in the order in which XLA runs ops
(`schedule.py`), in memory that is shared in time (`packing.py`). docs/memory.md describes the model.

    estimate_memory(program, function).peak_bytes
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import IntegerAttr, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from shardy_py.base.releases import of
from shardy_py.hardware import Hardware
from shardy_py.indexing.layout.formats import Target
from shardy_py.mlir.location_names import location_text
from shardy_py.mlir.symbols import function_name
from shardy_py.mlir.typed import dictionaries_of
from shardy_py.ops import TensorType
from shardy_py.xla.buffers.assignment import Assignment
from shardy_py.xla.buffers.chips import (
    fits_in_vmem,
    flops_per_byte,
    fusions_in_vmem,
    has_sparse_cores,
    moved_while_kept,
    values_in_vmem,
)
from shardy_py.xla.buffers.estimated import LiveTensor, MemoryEstimate
from shardy_py.xla.buffers.local_sizes import LocalSizes
from shardy_py.xla.buffers.on_chips import by_step, chip_block
from shardy_py.xla.buffers.packing import Buffer, NeededBytes
from shardy_py.xla.buffers.settings import CompileSetting
from shardy_py.xla.buffers.stored import StoredBlock
from shardy_py.xla.spmd.from_program import SpmdProgram
from shardy_py.xla.spmd.program import Block, Name
from shardy_py.xla.targets.model import RoundedValues
from shardy_py.xla.targets.of_program import CompiledProgram

if TYPE_CHECKING:
    from shardy_py.xla.targets.combining import Issued

_HOST_MEMORY = {"pinned_host", "unpinned_host"}
_SHOWN = 10


def estimate_memory(
    program: SpmdProgram,
    function: FuncOp,
    donated: Sequence[bool] = (),
    *,
    on_host: bool = True,
    target: Target = "linear",
    chip: Hardware | None = None,
) -> MemoryEstimate:
    """Returns the estimate for a function of a program.

    donated: for each argument, whether a result may take its memory. on_host: as XLA's backend for the host
    allocates; otherwise ops run in an order that needs little memory. target: the layouts of arrays.
    chip: the device whose compiler allocates, which changes and combines collectives.
    The release is that of the program.

    Raises:
        ShardyError: a tensor has a dynamic shape, or a mesh has too many devices to list them.
    """
    with of(program.release):
        on_tpu = chip is not None and chip.compiler == "tpu"
        pace = flops_per_byte(chip)
        setting = CompileSetting(
            *(on_host, target, on_tpu and not values_in_vmem(chip), fusions_in_vmem(chip)),
            sparse_cores=has_sparse_cores(chip),
            on_tpu=on_tpu,
            flops_per_byte=pace,
            moved_while_kept=moved_while_kept(chip),
        )
        return _estimated(program, function, donated, setting, chip)


def _estimated(
    program: SpmdProgram,
    function: FuncOp,
    donated: Sequence[bool],
    setting: CompileSetting,
    chip: Hardware | None,
) -> MemoryEstimate:
    on_chip = None if chip is None else _compiled(program, chip)
    program = program if on_chip is None else on_chip.program
    function = program.own(function)
    block, plan = program.planned(function)
    made_of: Mapping[int, Issued] = {}
    if on_chip is not None and program.is_planned:
        made_of = on_chip.issued(function)
    kept = [kind in _HOST_MEMORY for kind in _memory_kinds(function, "arg_attrs", len(block.arguments))]
    measure = LocalSizes(setting.target)
    given = [measure.of(value.type, value.tiling)[1] for value in block.arguments]
    types = _types_of(block.results, block)
    ends = zip(block.results, block.targets, strict=True)
    made = [measure.of(types.get(name), tiling)[1] for name, tiling in ends]
    returned = [kind in _HOST_MEMORY for kind in _memory_kinds(function, "res_attrs", len(made))]
    sizes = [0 if on else size for size, on in zip(given, kept, strict=True)]
    results = [0 if on else size for size, on in zip(made, returned, strict=True)]
    carried = _carried(sizes, donated, results, _aliasing(function))
    aliased = sum(size for size, number in zip(results, carried, strict=True) if number is not None)
    own = sum(sizes) + sum(results) - aliased
    is_known = program.is_planned or not plan.sent
    if on_chip is not None and chip is not None and is_known and _is_partly_in_vmem(chip, own, 0):
        stored = _as_compiled(on_chip, function, setting, made_of)
        found = _partly_in_vmem(chip, stored, results, carried)
    else:
        stored = _stored(program, function, setting, on_chip, made_of)
        if on_chip is not None and chip is not None and chip.compiler == "gpu" and is_known:
            from shardy_py.xla.buffers.gpu.memory import GpuComputation  # many modules, needed for GPUs only

            computation = GpuComputation(on_chip.plan(function).body, limits=on_chip.compiler.limits)
            arguments: Sequence[Name] = computation.graph.arguments
            assignment = computation.assignment(results, _named(carried, arguments))
        else:
            assignment = stored.assignment(results, _named(carried, _argument_names(stored)))
        held, alive = assignment.temporaries()
        found = NeededBytes(held, held, alive)
        if chip is not None and chip.compiler == "tpu":
            found = _in_hbm(chip, stored, assignment, own, found)
            if on_chip is not None and is_known and _is_partly_in_vmem(chip, own, held):
                apart = _as_compiled(on_chip, function, setting, made_of)
                partly = _partly_in_vmem(chip, apart, results, carried)
                found = partly if _is_partly_in_vmem(chip, own, partly.most) else found
    entries, symbol = program.values.boundaries, function_name(function)
    live: list[LiveTensor] = []
    for number, size in enumerate(sizes):
        entry = entries.get((symbol, "argument", number))
        if entry is not None and size:
            live.append(LiveTensor(size, str(entry), location_text(entry.location)))
    live = sorted((*live, *_live(found.alive)), key=lambda each: -each.bytes)[:_SHOWN]
    return MemoryEstimate(
        *(sum(sizes), sum(results), aliased, found.most),
        host=sum(given) - sum(sizes) + sum(made) - sum(results) + stored.host_bytes,
        largest=tuple(live),
        largest_temporary=max((each.size for each in found.alive), default=0),
        in_vmem=found.most - found.least,
    )


def _partly_in_vmem(
    chip: Hardware, stored: StoredBlock, results: Sequence[int], carried: Iterable[int | None]
) -> NeededBytes:
    """The bytes of temporaries that are not all in VMEM. stored: of the program as compiled."""
    from shardy_py.xla.buffers.tpu.partly_in_vmem import partly_in_vmem  # needed for some TPUs only

    return partly_in_vmem(stored, values_in_vmem(chip), results, _named(carried, _argument_names(stored)))


def _argument_names(stored: StoredBlock) -> Sequence[Name]:
    return [value.name for value in stored.block.arguments]


def _named(carried: Iterable[int | None], arguments: Sequence[Name]) -> list[Name | None]:
    """By result the name of the argument whose memory it takes."""
    return [None if number is None else arguments[number] for number in carried]


def _stored(
    program: SpmdProgram,
    function: FuncOp,
    setting: CompileSetting,
    on_chip: CompiledProgram | None,
    made_of: Mapping[int, Issued],
) -> StoredBlock:
    """The values that are stored. made_of: the op of each planned collective, if a compiler makes it."""
    if on_chip is None and not setting.on_host:
        return chip_block(program, function, setting.target)
    block, plan = program.planned(function)
    is_known = program.is_planned or not plan.sent
    if on_chip is not None and setting.as_compiled and is_known:
        return _as_compiled(on_chip, function, setting, made_of)
    elsewhere = _elsewhere(made_of) if made_of else set[int]()
    sent = by_step(each for each in plan.sent if id(each) not in elsewhere)
    again = {each.collective.key: id(each.step) for each in plan.merged}
    rounded, narrowed = RoundedValues(), dict[int, str]()
    if on_chip is not None and setting.on_tpu and is_known:
        from shardy_py.xla.targets.rounding import rounded_values

        rounded = rounded_values(on_chip.plan(function).body, block)
        narrowed = _narrowed(_distinct(made_of))
    return StoredBlock(
        *(block, sent, again, setting, LocalSizes(setting.target), by_step(plan.merged)),
        joined={number: id(op) for number, op in made_of.items() if len(op.parts) > 1},
        rounded=rounded,
        narrowed=narrowed,
    )


def _as_compiled(
    on_chip: CompiledProgram, function: FuncOp, setting: CompileSetting, made_of: Mapping[int, Issued]
) -> StoredBlock:
    """The values that are stored of the program as XLA:TPU's passes leave it. made_of: see `_stored`."""
    from shardy_py.xla.buffers.tpu.stored_steps import stored_block  # needed for some TPUs only

    setting = replace(setting, as_compiled=True)
    return stored_block(on_chip.plan(function).body, setting, _distinct(made_of))


def _compiled(program: SpmdProgram, chip: Hardware) -> CompiledProgram | None:
    """The program as the compiler of a device makes it; None if its passes are not known here."""
    from shardy_py.xla.targets.compiled import compiler_of  # without a device no pass is loaded

    compiler = compiler_of(chip)
    return None if compiler is None else CompiledProgram.of(program, compiler)


def _elsewhere(made_of: Mapping[int, Issued]) -> set[int]:
    """The planned collectives whose work another op does, by their identities.

    That is of a sum over what is added up, and of a gather together with others. made_of: the op of each.
    """
    from shardy_py.xla.targets.compiled import ADDED_FIRST

    found: set[int] = set()
    for op in _distinct(made_of):
        added = any(change.made_by in ADDED_FIRST for part in op.parts for change in part.changes)
        for part in op.parts:
            for each in part.members:
                kind = each.collective.kind
                is_other = kind == "all_gather" and each is not part.members[-1]
                if (is_other or (added and kind == "all_reduce")) and made_of.get(id(each.collective)) is op:
                    found.add(id(each))
    return found


def _distinct(made_of: Mapping[int, Issued]) -> Iterable[Issued]:
    """The ops, each once."""
    return {id(op): op for op in made_of.values()}.values()


def _narrowed(issued: Iterable[Issued]) -> dict[int, str]:
    """The types that planned collectives send in the end, by the identity of each."""
    return {
        id(member.collective): part.collective.element_type
        for op in issued
        for part in op.parts
        for member in part.members
    }


def _carried(
    sizes: Sequence[int], donated: Sequence[bool], results: Sequence[int], aliasing: Mapping[int, int]
) -> list[int | None]:
    """For each result the donated argument whose memory it takes: by `aliasing`, else the first of its size.

    aliasing: the positions of results by the number of the argument.
    """
    found: list[int | None] = [None] * len(results)
    free: dict[int, deque[int]] = defaultdict(deque)
    for number, (size, gives) in enumerate(zip(sizes, donated, strict=False)):
        position = aliasing.get(number, -1)
        if gives and 0 <= position < len(results) and results[position] == size and found[position] is None:
            found[position] = number
        elif gives:
            free[size].append(number)
    for position, size in enumerate(results):
        if found[position] is None and free[size]:
            found[position] = free[size].popleft()
    return found


def _aliasing(function: FuncOp) -> dict[int, int]:
    """The positions of the results that JAX says take the memory of arguments, by argument."""
    given = [each.get("tf.aliasing_output") for each in _dictionaries(function, "arg_attrs")]
    return {n: each.value.data for n, each in enumerate(given) if isinstance(each, IntegerAttr)}


def _live(alive: Iterable[Buffer]) -> Iterator[LiveTensor]:
    for each in alive:
        op: Any = None if each.step is None else each.step.source
        name = "" if each.step is None else each.step.record.name
        yield LiveTensor(each.size, name, "" if op is None else location_text(op.location))


def _dictionaries(function: FuncOp, attributes: str) -> list[Mapping[str, Attribute]]:
    """The attributes of each argument or result; none where no value has any."""
    return [entry.data for entry in dictionaries_of(function, attributes)]


def _memory_kinds(function: FuncOp, attributes: str, count: int) -> list[str]:
    """The kinds of memory that JAX gives to arguments or results; "" for that of the device."""
    entries = _dictionaries(function, attributes)
    found = (entry.get("mhlo.memory_kind") for entry in entries)
    kinds = [kind.data if isinstance(kind, StringAttr) else "" for kind in found]
    return kinds if len(kinds) == count else [""] * count


def _is_partly_in_vmem(chip: Hardware, own: int, held: int) -> bool:
    """True if any value may be in VMEM, but not all. own: the bytes of arguments and results."""
    return values_in_vmem(chip) > 0 and not fits_in_vmem(chip, own, held)


def _in_hbm(
    chip: Hardware, stored: StoredBlock, assignment: Assignment, own: int, found: NeededBytes
) -> NeededBytes:
    """The bytes of temporaries of a TPU in HBM, with what is beside them.

    own: the bytes of arguments and results. found: without what is beside, and without VMEM.
    """
    from shardy_py.xla.buffers.beside_vmem import addresses, bytes_apart, bytes_beside, may_be_beside

    held, room = found.most, values_in_vmem(chip)
    if fits_in_vmem(chip, own, held):
        is_beside = may_be_beside(stored, assignment)
        beside = bytes_beside(stored, assignment) + bytes_apart(assignment) if is_beside else 0
        return NeededBytes(0, beside, found.alive)
    if held and not room:
        whole = held + addresses(assignment)
        return NeededBytes(whole, whole, found.alive)
    beside = bytes_beside(stored, assignment) if held else 0
    return NeededBytes(max(0, sum(each.size for each in found.alive) - room), held + beside, found.alive)


def _types_of(names: Iterable[Name], block: Block) -> dict[Name, TensorType | None]:
    """The types of some values of a block."""
    wanted = {*names}
    found: dict[Name, TensorType | None] = {value.name: value.type for value in block.arguments}
    for step in block.steps:
        if not wanted.isdisjoint(step.results):
            found |= zip(step.results, step.record.results, strict=False)
    return found
