"""What Shardy decides about single ops beyond their semantics: one table.

A row says how reads that carry no coordinate are treated, which dimensions' factors come first, and what is
changed at last. An op without a row is treated `by_relation`, and gets a sound rule. Rows marked *unsound*
follow Shardy where it calls a dimension free that the op moves or reads whole: a partitioner has to
communicate there all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from shardy_py.ops import OpRecord, custom_calls
from shardy_py.rules import finish
from shardy_py.rules.access import Relation
from shardy_py.rules.finish import Finish
from shardy_py.rules.sketch import Slot
from shardy_py.rules.treatment import Read, Treat, Treatment, by_relation
from shardy_py.sharding import FactorType

PASS, REDUCED = FactorType.PASS_THROUGH, FactorType.REDUCTION
MOVED_ALONG, WHOLE = FactorType.PERMUTATION, FactorType.NEED_REPLICATION
Walk = Callable[[OpRecord], Sequence[Slot]]


def results_first(record: OpRecord) -> list[Slot]:
    """The dimensions of the first result; later results follow where they have factors of their own."""
    return [
        Slot("result", number, d)
        for number, result in enumerate(record.results)
        for d in range(result.rank if result else 0)
    ]


@dataclass(frozen=True, slots=True)
class Policy:
    """One row.

    treat: decides each read that carries no coordinate.
    walk: the dimensions whose factors come first.
    carrier_first: whether a result dimension's factor comes before those set apart from it.
    finish: changes the sketch of the rule at last; (sketch, conservative).
    keeps_order: whether the op is a reshape: factors are those of two mixed-radix numbers.
    """

    treat: Treat = by_relation
    walk: Walk = results_first
    carrier_first: bool = False
    finish: Finish | None = None
    keeps_order: bool = False


def operand_first(operand: int | Callable[[OpRecord], int]) -> Walk:
    """Begins with the dimensions of an operand."""

    def walk(record: OpRecord) -> list[Slot]:
        number = operand if isinstance(operand, int) else operand(record)
        tensor = record.operands[number]
        slots = [Slot("operand", number, d) for d in range(tensor.rank if tensor else 0)]
        return [*slots, *results_first(record)]

    return walk


def moved_last(*attributes: str) -> Walk:
    """The result dimensions that the attributes name come last."""

    def walk(record: OpRecord) -> list[Slot]:
        moved = list(dict.fromkeys(record.attributes[name] for name in attributes))
        slots = results_first(replace(record, results=record.results[:1]))
        return [s for s in slots if s.dimension not in moved] + [slots[d] for d in moved]

    return walk


def convolution_walk(record: OpRecord) -> list[Slot]:
    """The left operand, batch first, then spatial dimensions, then features."""
    numbers = record.attributes["dimension_numbers"]
    order = (
        numbers["input_batch_dimension"],
        *numbers["input_spatial_dimensions"],
        numbers["input_feature_dimension"],
    )
    return [Slot("operand", 0, d) for d in order]


def pass_through(read: Read) -> Treatment:
    """Unsound: as if the op were pointwise."""
    return Treatment(True, PASS, size=read.result_size)


def set_apart(read: Read) -> Treatment:
    """What is cut or joined needs the whole of the operand and of the result, each with its factor."""
    return replace(by_relation(read), shared=False, result_type=WHOLE)


def resized(read: Read) -> Treatment:
    """Equal sizes count as unmoved. Unsound for padding whose low and high parts cancel."""
    return Treatment(True, PASS) if read.size == read.result_size else by_relation(read)


def updated(read: Read) -> Treatment:
    """The updated tensor stays cut, each device writes its part; the update must be whole, unless its place
    is known at compile time."""
    if read.relation is not Relation.RUNTIME:
        return by_relation(read)
    return Treatment(False, PASS if read.record.attributes.get("context.constant_indices") else WHOLE)


def scattered(read: Read) -> Treatment:
    """A window smaller than the dimension it lands in: both must be whole."""
    if read.relation in (Relation.RUNTIME, Relation.MOVED):
        return Treatment(False, WHOLE, result_type=WHOLE)
    return by_relation(read)


def gathered(read: Read) -> Treatment:
    """One element along a dimension can be found where it is, and summed over the devices with zeros."""
    if read.operand != 0:
        return by_relation(read)
    if read.result_dim is None:
        return Treatment(False, WHOLE if read.size == 1 else REDUCED)
    if read.result_size == 1:
        return Treatment(False, REDUCED, result_type=WHOLE)
    return Treatment(True, WHOLE, True, read.size)


def sorted_(read: Read) -> Treatment:
    """With no other dimension to cut there is nothing to gain along the sorted one."""
    operand = read.record.operands[0]
    others = [size for d, size in enumerate(operand.shape if operand else ()) if d != read.dimension]
    return replace(by_relation(read), blocked=all(size == 1 for size in others))


def transformed(read: Read) -> Treatment:
    """Real transforms give the last dimension another length: not to be propagated."""
    return replace(by_relation(read), blocked=read.size != read.result_size)


def best(read: Read) -> Treatment:
    """Unsound for k of all: only a dimension that shrinks counts as searched."""
    if read.size == read.result_size:
        return Treatment(True, PASS)
    return replace(by_relation(read), blocked=True)


def approximately_best(read: Read) -> Treatment:
    """Each device searches its part; what is found has a factor of its own."""
    return Treatment(False, PASS, result_type=WHOLE, result_blocked=True)


def seeded(read: Read) -> Treatment:
    """States stay whole and are not propagated."""
    return replace(by_relation(read), blocked=True)


_CALL = "stablehlo.custom_call@"
_AS_POINTWISE = (*custom_calls.POINTWISE, *custom_calls.OFFLOADS, *custom_calls.MATRIX, *custom_calls.MOVED)
POLICIES: dict[str, Policy] = {
    "stablehlo.all_gather": Policy(set_apart, moved_last("all_gather_dim")),
    "stablehlo.all_to_all": Policy(set_apart, moved_last("split_dimension", "concat_dimension")),
    "stablehlo.concatenate": Policy(finish=finish.concatenated),
    "stablehlo.convolution": Policy(walk=convolution_walk, finish=finish.convolved),
    "stablehlo.dynamic_update_slice": Policy(updated, carrier_first=True),
    "stablehlo.fft": Policy(transformed),
    "stablehlo.gather": Policy(gathered),
    "stablehlo.pad": Policy(resized),
    "stablehlo.reduce": Policy(walk=operand_first(0)),
    "stablehlo.reduce_scatter": Policy(set_apart, moved_last("scatter_dimension")),
    "stablehlo.reduce_window": Policy(finish=finish.windowed),
    "stablehlo.reshape": Policy(keeps_order=True),
    "stablehlo.rng_bit_generator": Policy(seeded),
    "stablehlo.scatter": Policy(
        scattered, operand_first(lambda record: len(record.operands) - 1), carrier_first=True
    ),
    "stablehlo.select_and_scatter": Policy(finish=finish.selected),
    "stablehlo.slice": Policy(resized),
    "stablehlo.sort": Policy(sorted_),
    "stablehlo.triangular_solve": Policy(walk=operand_first(1), finish=finish.solved),
    **{_CALL + target: Policy(pass_through) for target in _AS_POINTWISE},
    _CALL + "X64Combine": Policy(pass_through, finish=finish.combined),
    _CALL + "Eigh": Policy(pass_through, finish=finish.all_through),
    _CALL + "mhlo.topk": Policy(best),
    _CALL + "ApproxTopK": Policy(approximately_best),
    _CALL + "PartialReduce": Policy(approximately_best),
}
DEFAULT = Policy()
