"""Ops that structure a program: control flow, calls, tuples, tokens, barriers, forwarding of operands.

Most have no maps: the columns `control`, `storage` and `is_wire` describe what flows through them. Maps of
forwarding ops, of ops that only HLO has (named "hlo.OPCODE"), and of constants that partitioning adds, serve
analyses only.

A bitcast of HLO keeps the order of elements in memory. With layouts (`operand_layout`, `result_layout`: the
dimensions, minor to major) it is a transpose to the order in memory, a reshape, and a transpose back:

>>> from shardy_py.ops.record import TensorType
>>> layouts = {"operand_layout": (1, 0), "result_layout": (0, 1)}
>>> record = OpRecord("hlo.bitcast", (TensorType((4, 8)),), (TensorType((8, 4)),), layouts)
>>> str(bitcast(record)[0].operands[0]).splitlines()[0]
'(d0, d1) -> (d1, d0),'
"""

from __future__ import annotations

from shardy_py.base.behaviours import Behaviour
from shardy_py.indexing import Expr, constant, dim
from shardy_py.ops.elementwise import no_operands, pointwise
from shardy_py.ops.movement import reshaped_point
from shardy_py.ops.reads import Reads, all_results, coordinates, domain_of, names, shape_of
from shardy_py.ops.record import OpRecord
from shardy_py.ops.spec import Control, OpSpec, RuleSource, Storage

_NONE, _ALIAS = RuleSource.NONE, Storage.ALIAS

WITHOUT_RULE = names("""stablehlo.after_all stablehlo.create_token stablehlo.infeed stablehlo.outfeed
    stablehlo.partition_id stablehlo.recv stablehlo.return stablehlo.send
    sdy.mesh sdy.return sdy.sharding_group func.return
    check.expect_almost_eq check.expect_almost_eq_const check.expect_close check.expect_eq
    check.expect_eq_const check.expect_serialized_eq interpreter.print interpreter.run_parallel""")
UNSTATED = names("stablehlo.async_done stablehlo.replica_id chlo.scan")
FORWARDING = names("stablehlo.optimization_barrier sdy.data_flow_edge sdy.func_data_flow_edge")
HLO_UNSTATED = names("ragged-all-to-all recv-done scaled-dot send-done")
HLO_SOURCES = names("parameter rng-get-and-update-state")


def each_its_own(record: OpRecord) -> tuple[Reads, ...]:
    """Result k reads operand k at the same element."""
    groups: list[Reads] = []
    for number in all_results(record):
        if record.results[number] is None:
            continue
        read = domain_of(record, number).reading(coordinates(shape_of(record.results[number])))
        maps = tuple(read if operand == number else None for operand in range(len(record.operands)))
        groups.append(Reads((number,), maps))
    return tuple(groups)


def first_only(record: OpRecord) -> tuple[Reads, ...]:
    """The result is the first operand; the others only order the program."""
    read = domain_of(record).reading(coordinates(shape_of(record.results[0])))
    return (Reads((0,), (read, *[None] * (len(record.operands) - 1))),)


def nothing_read(record: OpRecord) -> tuple[Reads, ...]:
    """The result depends on types alone."""
    return (Reads(all_results(record), (None,) * len(record.operands)),)


def bitcast(record: OpRecord) -> tuple[Reads, ...]:
    """The element at the same offset in memory."""
    operand, result = shape_of(record.operands[0]), shape_of(record.results[0])
    source = _major_to_minor(record, "operand_layout", len(operand))
    target = _major_to_minor(record, "result_layout", len(result))
    physical = reshaped_point(tuple(result[d] for d in target), tuple(operand[d] for d in source))
    logical = {dim(place): dim(position) for place, position in enumerate(target)}
    point: list[Expr] = [constant(0)] * len(operand)
    for place, position in enumerate(source):
        point[position] = physical[place].replace(lambda v: logical[v])
    return (Reads((0,), (domain_of(record).reading(tuple(point)),)),)


def _major_to_minor(record: OpRecord, name: str, rank: int) -> tuple[int, ...]:
    layout: tuple[int, ...] | None = record.attributes.get(name)
    return tuple(range(rank)) if layout is None else tuple(reversed(layout))


ROWS = (
    *(OpSpec(name, rule_source=_NONE) for name in WITHOUT_RULE),
    *map(OpSpec, UNSTATED),
    OpSpec("builtin.module", rule_source=_NONE, control=Control.DEFINITION),
    OpSpec("func.call", rule_source=_NONE, control=Control.CALL),
    OpSpec("func.func", rule_source=_NONE, control=Control.DEFINITION),
    OpSpec("stablehlo.async_start", control=Control.ASYNC),
    OpSpec("stablehlo.case", rule_source=_NONE, control=Control.BRANCHES),
    OpSpec("stablehlo.composite", control=Control.CALL),
    OpSpec("stablehlo.custom_call", context="context.feeds_rng_bit_generator"),
    OpSpec("stablehlo.get_dimension_size", closer=nothing_read),
    OpSpec("stablehlo.get_tuple_element", rule_source=_NONE, is_wire=True, storage=Storage.ELEMENT),
    OpSpec("stablehlo.if", known_since=Behaviour.IF_IS_DATA_FLOW, control=Control.BRANCHES),
    *(OpSpec(op, closer=each_its_own, rule_source=_NONE, is_wire=True, storage=_ALIAS) for op in FORWARDING),
    OpSpec("stablehlo.tuple", is_wire=True),
    OpSpec("stablehlo.while", rule_source=_NONE, control=Control.LOOP),
    OpSpec("sdy.manual_computation", rule_source=_NONE, control=Control.MANUAL),
    OpSpec("sdy.named_computation", rule_source=_NONE, control=Control.REGION),
    OpSpec("interpreter.probe", pointwise, storage=_ALIAS),
    OpSpec("sdy.propagation_barrier", pointwise, is_elementwise=True, rule_source=_NONE, storage=_ALIAS),
    OpSpec(
        "sdy.sharding_constraint",
        pointwise,
        is_elementwise=True,
        storage=_ALIAS,
        # Elementwise, but it has an effect on the sharding of its operand.
        preserves_constants=False,
    ),
    OpSpec("hlo.copy", pointwise, arity=1),
    OpSpec("hlo.stochastic-convert", pointwise, arity=2),
    *(OpSpec(f"hlo.{name}", no_operands) for name in HLO_SOURCES),
    *(OpSpec(f"hlo.{name}") for name in HLO_UNSTATED),
    # A constant with an entry for each device: the offsets of its part.
    OpSpec("hlo.table", no_operands),
    OpSpec("hlo.bitcast", bitcast),
    OpSpec("hlo.add-dependency", first_only, is_wire=True),
    OpSpec("hlo.domain", first_only, arity=1),
    OpSpec("hlo.opt-barrier", each_its_own, is_wire=True),
    OpSpec("hlo.fusion", control=Control.CALL),
    OpSpec("hlo.async", control=Control.CALL),
)
