"""The arithmetic of each device for one step of a partitioned program, and the bytes that it reads.

An op whose result is sharded computes its part of the result; one whose sum over a sharded dimension is
completed by an all-reduce computes that part of the sum. Not here: the work of whole ops (`ops/work.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from math import inf, prod

from xdsl.ir import Operation

from shardy_py.base.records import dataclass
from shardy_py.base.session import SESSION
from shardy_py.mlir.record import record_of
from shardy_py.ops import OpRecord, Work, indexing_maps, matching_attributes, work_of
from shardy_py.ops.work import sort_flops
from shardy_py.xla.spmd.from_program import source_op
from shardy_py.xla.spmd.program import PlannedOp
from shardy_py.xla.spmd.tiling import Tiling
from shardy_py.xla.spmd.walk import Sent

_SUMS = frozenset(("all_reduce", "reduce_scatter"))
_WORK: dict[int, tuple[OpRecord, Work]] = SESSION.table("work of ops")
_WHOLE: dict[int, tuple[OpRecord, DeviceWork]] = SESSION.table("work of whole ops")
_LOCAL: dict[tuple[int | None, ...], tuple[object, DeviceWork]] = SESSION.table("work of devices")
_READ: dict[int, tuple[OpRecord, tuple[float, ...]]] = SESSION.table("elements that ops read")


@dataclass(frozen=True, slots=True)
class DeviceWork:
    """The work of one device.

    product_flops: on matrix units. flops: all others. transcendentals: functions, counted apart, of which so
    many are of angles.
    """

    product_flops: float = 0.0
    flops: float = 0.0
    transcendentals: float = 0.0
    angles: float = 0.0

    def __add__(self, other: DeviceWork) -> DeviceWork:
        return DeviceWork(
            self.product_flops + other.product_flops,
            self.flops + other.flops,
            self.transcendentals + other.transcendentals,
            self.angles + other.angles,
        )

    def __mul__(self, times: float) -> DeviceWork:
        angles = self.angles and self.angles * times
        return DeviceWork(
            self.product_flops * times, self.flops * times, self.transcendentals * times, angles
        )

    @property
    def all_flops(self) -> float:
        """As XLA counts them: without transcendental functions."""
        return self.product_flops + self.flops


NOTHING = DeviceWork()


def total_work(works: Iterable[DeviceWork]) -> DeviceWork:
    """The sum of works."""
    products = flops = functions = angles = 0.0
    for work in works:
        if work is not NOTHING:
            products += work.product_flops
            flops += work.flops
            functions += work.transcendentals
            angles += work.angles
    return DeviceWork(products, flops, functions, angles)


def whole_work(step: PlannedOp) -> DeviceWork:
    """The work of a step on whole tensors."""
    known = _WHOLE.get(id(step.record))
    if known is not None:
        return known[1]
    work = known_work(step.record)
    made = _device_work(work, step, 1.0, 1.0) if work.flops or work.transcendentals else NOTHING
    if not work.is_of_region:
        _WHOLE.setdefault(id(step.record), (step.record, made))
    return made


def local_work(
    step: PlannedOp, sent: Sequence[Sent], held: Sequence[Tiling | None], *, is_planned: bool = True
) -> DeviceWork:
    """The work of a step on each device.

    sent: the collectives that the partitioner adds for it. held: the tilings of its operands. is_planned:
    whether sums over sharded dimensions are completed by `sent`, not by the program.
    """
    if is_idle(step.record):
        return NOTHING
    work = known_work(step.record)
    if sent or work.is_of_region or step.is_unreduced or not is_planned:
        return _local_work(work, step, sent, held, is_planned=is_planned)
    key = (id(step.record), *map(id, step.targets), None, *map(id, held))
    known = _LOCAL.get(key)
    if known is None:
        made = _local_work(work, step, sent, held, is_planned=is_planned)
        known = _LOCAL.setdefault(key, ((step.record, step.targets, tuple(held)), made))
    return known[1]


def is_idle(record: OpRecord) -> bool:
    """Returns whether ops of a record compute nothing that is counted."""
    known = _WORK.get(id(record))
    work = known_work(record) if known is None else known[1]
    return not (work.flops or work.transcendentals or work.is_masked)


def _local_work(
    work: Work, step: PlannedOp, sent: Sequence[Sent], held: Sequence[Tiling | None], *, is_planned: bool
) -> DeviceWork:
    made, summed = _made_share(step, sent), _summed(step, sent)
    if work.operand is not None:
        share = _held_share(step, work.operand, sent, held)
        type_ = step.record.operands[work.operand]
        if work.is_sort and type_ is not None:
            return DeviceWork(flops=sort_flops(round(share * _elements(type_.shape))))
    else:
        share = made / (summed if is_planned and not step.is_unreduced else _folded(step.record, held))
    found = _device_work(work, step, share, made)
    if work.is_masked and summed > 1:
        type_ = step.record.results[0]
        found += DeviceWork(flops=made * _elements(type_.shape if type_ else ()))
    return found


def _device_work(work: Work, step: PlannedOp, share: float, made: float) -> DeviceWork:
    flops, functions = work.flops * share - work.kept * made, work.transcendentals * share
    if work.is_of_region:
        inside = _region_work(source_op(step))
        return DeviceWork(0.0, flops * inside.flops, flops * inside.transcendentals)
    if work.is_product:
        return DeviceWork(flops, 0.0, functions)
    return DeviceWork(0.0, flops, functions, functions if work.is_of_angles else 0.0)


def known_work(record: OpRecord) -> Work:
    """The arithmetic of an op on whole tensors."""
    known = _WORK.get(id(record))
    if known is None:
        with matching_attributes(record):
            known = _WORK.setdefault(id(record), (record, work_of(record)))
    return known[1]


def _region_work(op: Operation | None) -> Work:
    """The operations of the first region of an op; one if it is not known."""
    if op is None or not op.regions:
        return Work(1)
    inside = [known_work(record_of(each)) for each in op.regions[0].blocks[0].ops if each.results]
    return Work(sum(each.flops for each in inside), sum(each.transcendentals for each in inside))


def _elements(shape: Iterable[int | None]) -> int:
    return prod(size or 0 for size in shape)


def made_shape(step: PlannedOp, sent: Sequence[Sent]) -> tuple[int, ...]:
    """Returns the shape of the first result that each device computes, before what is made is sent."""
    type_, target = step.record.results[0], step.targets[0]
    if type_ is None:
        return ()
    sizes = [size or 0 for size in type_.shape]
    made = next((each.collective for each in sent if each.operand < 0), None)
    if made is not None and len(made.held_shape) == type_.rank:
        return tuple(made.held_shape)
    return tuple(sizes if target is None else target.local_shape(sizes))


def _made_share(step: PlannedOp, sent: Sequence[Sent]) -> float:
    """The part of the first result that each device computes, before what is made is sent."""
    type_ = step.record.results[0]
    if type_ is None or step.targets[0] is None:
        return 1.0
    whole = _elements(type_.shape)
    return _elements(made_shape(step, sent)) / whole if whole else 1.0


def _held_share(step: PlannedOp, operand: int, sent: Sequence[Sent], held: Sequence[Tiling | None]) -> float:
    """The part of an operand that each device holds, after what is sent of it."""
    type_, tiling = step.record.operands[operand], held[operand]
    if type_ is None or tiling is None:
        return 1.0
    shape = tiling.local_shape([size or 0 for size in type_.shape])
    for each in sent:
        made = each.collective.made_shape
        if (
            each.operand == operand
            and each.collective.kind != "collective_permute"
            and len(made) == type_.rank
        ):
            shape = made
    whole = _elements(type_.shape)
    return _elements(shape) / whole if whole else 1.0


def _summed(step: PlannedOp, sent: Sequence[Sent]) -> int:
    """The number of devices that compute parts of the same sums."""
    sums = [each.collective for each in sent if each.operand < 0 and each.collective.kind in _SUMS]
    count = max(1, len(step.record.results))
    return prod(each.group_size for each in sums[: len(sums) // count])


def _folded(record: OpRecord, held: Sequence[Tiling | None]) -> int:
    """The number of parts of the first operand along dimensions that the result does not have."""
    tiling, maps = held[0] if held else None, indexing_maps(record)
    read = maps[0][0] if maps and maps[0] else None
    if tiling is None or read is None:
        return 1
    is_folded = (bool(e.variables) and all(v.kind == "s" for v in e.variables) for e in read.results)
    return prod(tiling.tiles(d) for d, folded in enumerate(is_folded) if folded)


def read_shares(record: OpRecord) -> tuple[float, ...]:
    """By operand the part of it that an op reads, at most; 1 if its maps do not state it."""
    known = _READ.get(id(record))
    if known is None:
        found = [1.0] * len(record.operands)
        if record.is_static:
            for number, (type_, points) in enumerate(zip(record.operands, _points_read(record), strict=True)):
                whole = 0 if type_ is None else _elements(type_.shape)
                found[number] = min(1.0, points / whole) if whole else 1.0
        known = _READ.setdefault(id(record), (record, tuple(found)))
    return known[1]


def _points_read(record: OpRecord) -> list[float]:
    """By operand, the points of its maps, over the variables that they use; infinite if not stated."""
    with matching_attributes(record):
        maps = indexing_maps(record) or ()
    found = [0.0 if maps else inf] * len(record.operands)
    sharing = Counter(map(id, maps))  # results of one shape have the same maps
    for by_operand in {id(each): each for each in maps}.values():
        for number, index_map in enumerate(by_operand):
            if index_map is not None:
                bounds = index_map.bounds
                used = (v for v in index_map.used if v in bounds and v.kind != "rt")
                found[number] += sharing[id(by_operand)] * prod(bounds[v].size for v in used)
    return found
