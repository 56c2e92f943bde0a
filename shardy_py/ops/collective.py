"""Ops that exchange tensors between devices, as maps between the tensors of one device.

Elements keep their position in the tensor, whichever device they come from; dimensions that are split or
concatenated over devices are read whole. All operands are exchanged in the same way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from shardy_py.indexing import IndexMap, runtime
from shardy_py.ops.elementwise import pointwise
from shardy_py.ops.passing import each_its_own
from shardy_py.ops.policy import BY_MAPS, WHOLE, DimensionRead, Policy, Treatment, by_relation, moved_last
from shardy_py.ops.reads import (
    Domain,
    Maps,
    Reads,
    all_results,
    coordinates,
    domain_of,
    extents,
    integer,
    shape_of,
)
from shardy_py.ops.record import OpRecord
from shardy_py.ops.reduction import whole_dimensions
from shardy_py.ops.spec import Collective, Family, Linear, OpSpec, RuleSource, Storage
from shardy_py.ops.work import each_element

RAGGED = "ragged_all_to_all"
"""The custom call of JAX that sends slices, of sizes known at run time, into a buffer, its second operand."""


def _exchanged(*attributes: str) -> Maps:
    """Pointwise; split and concatenated dimensions are read whole."""

    def maps(record: OpRecord) -> tuple[Reads, ...]:
        moved = dict.fromkeys(integer(record.attributes, name) for name in attributes)
        return (whole_dimensions(record, tuple(moved)),)

    return maps


def _for_each(maps: Callable[[OpRecord, int], IndexMap]) -> Maps:
    """Result k reads operand k, by `maps(record, k)`."""

    def reads(record: OpRecord) -> tuple[Reads, ...]:
        count = len(record.operands)
        return tuple(
            Reads((k,), tuple(maps(record, k) if operand == k else None for operand in range(count)))
            for k in all_results(record)
        )

    return reads


def _gathered(record: OpRecord, number: int) -> IndexMap:
    """Device k holds part k along the dimension."""
    shape = shape_of(record.operands[number])
    along = integer(record.attributes, "all_gather_dim")
    point = list(coordinates(shape))
    point[along] = point[along] % shape[along]
    return domain_of(record, number).reading(tuple(point))


def _scattered(record: OpRecord, number: int) -> IndexMap:
    """Device rt0 of its group keeps part rt0 along the dimension."""
    shape, result = shape_of(record.operands[number]), shape_of(record.results[number])
    along = integer(record.attributes, "scatter_dimension")
    point = list(coordinates(result))
    point[along] = point[along] + runtime(0) * result[along]
    return Domain(extents(result), (), extents((shape[along] // result[along],))).reading(tuple(point))


def _received(record: OpRecord, number: int) -> IndexMap:
    """Device rt0 receives part rt0 of each device's tensor, and concatenates the parts."""
    shape, attributes = shape_of(record.operands[number]), record.attributes
    split, joined = integer(attributes, "split_dimension"), integer(attributes, "concat_dimension")
    parts = integer(attributes, "split_count", 1)
    size = shape[split] // parts
    point = list(coordinates(shape))
    received = size if split == joined else shape[joined]
    point[joined] = point[joined] % received
    point[split] = point[split] + runtime(0) * size
    domain = Domain(extents(shape_of(record.results[number])), (), extents((parts,)))
    return domain.reading(tuple(point))


def _sdy(name: str, axes: str = "", kind: str = "") -> OpSpec:
    row = Collective(kind or name, axes)
    work = each_element if name == "all_reduce" else None
    return OpSpec(f"sdy.{name}", closer=each_its_own, collective=row, work=work, family=Family.COLLECTIVE)


def _user(name: str, closer: Maps = each_its_own, *moved: str) -> OpSpec:
    """A row of StableHLO; `moved`: the attributes that name split and concatenated dimensions."""
    return OpSpec(
        f"stablehlo.{name}",
        _exchanged(*moved) if moved else pointwise,
        closer=closer,
        policy=Policy(set_apart, moved_last(*moved)) if moved else BY_MAPS,
        collective=Collective(name, names_devices=True),
        work=each_element if name == "all_reduce" else None,
        family=Family.COLLECTIVE,
    )


def set_apart(read: DimensionRead) -> Treatment:
    """Split and concatenated dimensions are needed whole in operand and result, with a factor each."""
    return replace(by_relation(read), shared=False, result_type=WHOLE)


ROWS = (
    _user("all_gather", _for_each(_gathered), "all_gather_dim"),
    _user("all_reduce"),
    _user("all_to_all", _for_each(_received), "split_dimension", "concat_dimension"),
    _user("collective_broadcast"),
    _user("collective_permute"),
    _user("reduce_scatter", _for_each(_scattered), "scatter_dimension"),
    OpSpec(f"stablehlo.custom_call@{RAGGED}", collective=Collective(RAGGED, names_devices=True)),
    OpSpec("stablehlo.collective_reduce", pointwise, closer=each_its_own, rule_source=RuleSource.UNKNOWN),
    OpSpec("stablehlo.cross-replica-sum", pointwise, closer=each_its_own),
    _sdy("all_gather", "gathering_axes"),
    _sdy("all_reduce", "reduction_axes"),
    _sdy("all_slice", "slicing_axes"),
    _sdy("all_to_all"),
    _sdy("collective_permute"),
    _sdy("reduce_scatter", "reduce_scatter_axes"),
    _sdy("replicated_to_unreduced", "axes", "all_slice"),
    _sdy("sharded_to_unreduced", "axes", "all_slice"),
    OpSpec(
        "sdy.reshard",
        pointwise,
        is_elementwise=True,
        rule_source=RuleSource.NONE,
        collective=Collective("reshard"),
        linear=Linear.ALL,
        storage=Storage.ALIAS,
    ),
)
