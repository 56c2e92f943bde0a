"""Rows define an op, as CONTRIBUTING.md promises: one op of each kind in its table is added and used.

An elementwise op, one with attributes, a windowed one and a target of custom calls go all the way: read,
verified, propagated, partitioned, run, proven, and estimated, by their rows and facets alone.
"""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.dialects import test
from xdsl.dialects.builtin import TensorType, f32
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from shardy_py.api import Program, Result, pipeline, propagate
from shardy_py.base.errors import ShardyError
from shardy_py.frontends.builder import build, emit, ops, region, tensor
from shardy_py.frontends.builder.ops import elementwise, rows
from shardy_py.hlo import text as hlo
from shardy_py.hlo.text import OPCODES
from shardy_py.hlo.text.opcodes import elementwise_opcode
from shardy_py.indexing import dim, range_var
from shardy_py.localize.facet import LOCAL, LocalRow
from shardy_py.localize.permutation_windows import Description, one_operand, with_parts
from shardy_py.localize.resolution import Resolution
from shardy_py.localize.window_exchange import Parts
from shardy_py.mlir.dialects import chlo, parse_module, print_module, stablehlo, syntax_table
from shardy_py.mlir.dialects import kinds as k
from shardy_py.mlir.dialects.definition import (
    LOOP_FLOW,
    NO_EFFECT,
    PURE,
    READS_AND_WRITES,
    RECURSIVE,
    TERMINATOR,
    OpRow,
    many,
    optional,
    regions,
    slots,
)
from shardy_py.mlir.dialects.op_table import OpTable
from shardy_py.mlir.dialects.stablehlo import type_kinds as t
from shardy_py.mlir.dialects.stablehlo.verify.elementwise import infer_most_specific
from shardy_py.mlir.dialects.stablehlo.verify.movement import infer_operand
from shardy_py.mlir.dialects.stablehlo.verify.tensors import require
from shardy_py.mlir.dialects.stablehlo.verify.traits import COMPATIBLE, follows_name
from shardy_py.mlir.dialects.stablehlo.verify.view import View
from shardy_py.mlir.dialects.template import Template
from shardy_py.mlir.dialects.traits import is_dead_when_unused
from shardy_py.mlir.dialects.type_tails import ARROW, SAME
from shardy_py.mlir.dialects.verification import find_faults
from shardy_py.mlir.dialects.verification.rules import rules as verifier_rules
from shardy_py.mlir.plain import plain
from shardy_py.mlir.record import record_of
from shardy_py.mlir.stablehlo_builder import StablehloBuilder, Value, resized
from shardy_py.ops import (
    TABLE,
    Control,
    Facet,
    Family,
    OpRecord,
    OpSpec,
    Policy,
    Reads,
    RuleSource,
    coordinates,
    domain_of,
    row_name,
    shape_of,
)
from shardy_py.ops.compute import COMPUTED, Array, Compute, ComputedRow
from shardy_py.ops.dimensions import own_windows
from shardy_py.ops.elementwise import pointwise
from shardy_py.ops.windowed import adjust_window
from shardy_py.xla.spmd.facet import SENT, SentRow
from shardy_py.xla.spmd.handlers import elementwise_op, reduce_window

T = "tensor<8x4xf32>"
RULE = "([i, j])->([i, j]) {i=8, j=4}"
PROGRAM = """\
module {
  sdy.mesh @mesh = <["x"=2]>
  func.func @main(%arg0: TYPE {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> TYPE {
    BODY
    return %0 : TYPE
  }
}
""".replace("TYPE", T)
HLO = """\
HloModule m
ENTRY e {
  p = f32[8,4] parameter(0)
  ROOT r = f32[8,4] OPCODE(p)
}"""
ROLL = """
roll(operand, dimension: dimension, by: int)
    The elements moved along a dimension.
"""


def _rolled(record: OpRecord) -> tuple[Reads, ...]:
    shape, along = shape_of(record.results[0]), record.attributes["dimension"]
    point = list(coordinates(shape))
    point[along] = (dim(along) + record.attributes["by"]) % shape[along]
    return (Reads((0,), (domain_of(record).reading(tuple(point)),)),)


def _window_sums(record: OpRecord) -> tuple[Reads, ...]:
    """Element i reads the window at i."""
    shape = shape_of(record.operands[0])
    windows = own_windows(record.attributes, len(shape))
    domain = domain_of(record, ranges=tuple(window.size for window in windows))
    read = [window.element(dim(d), range_var(d), shape[d]) for d, window in enumerate(windows)]
    inside = tuple(constraint for _, constraints in read for constraint in constraints)
    return (Reads((0,), (domain.reading(tuple(element for element, _ in read), inside),)),)


def _sum_windows(record: OpRecord, array: Array) -> Array:
    (low, high), taps = record.attributes["padding"][1], record.attributes["window_dimensions"][1]
    wide = np.pad(array, ((0, 0), (0, 0), (low, high)))
    size = wide.shape[-1] - taps + 1
    return sum((wide[..., k : k + size] for k in range(1, taps)), start=wide[..., :size])


def _exchanged_sums(op: Operation, state: Resolution) -> Description:
    """A window reads elements of neighbours, which are exchanged; beyond the ends are zeros."""
    windows = own_windows(record_of(op).attributes, 2)

    def insert(build: StablehloBuilder, parts: Parts) -> Value:
        padding = [(window.low, window.high) for window in with_parts(windows, parts.exchanges[0])]
        type_ = resized(op.results[0], [8, 2])
        sizes = tuple(window.size for window in windows)
        return build.one("blur", parts.gathered, type_, window_dimensions=sizes, padding=padding)

    return one_operand(op, state, windows, None, insert)


def _soft_clip(record: OpRecord, array: Array) -> Array:
    return array / (1 + np.abs(array))


def _roll(record: OpRecord, array: Array) -> Array:
    return np.roll(array, -record.attributes["by"], 1 + record.attributes["dimension"])


def _check_dimension(view: View) -> None:
    rank = view.operands[0].rank
    require(view.integer("dimension") < rank, f"dimension should be less than the rank {rank}")


def _repeated(x: Any) -> Any:
    body = region(lambda y: y, [x.type], "stablehlo.give")
    return emit("repeat", x, regions=[body], results=x.type, times=3)[0]


@dataclass(frozen=True)
class Kind:
    """An op of one kind: its rows, and its use.

    use: the body of PROGRAM. wrong: what in it is replaced, by what, and the fault of that.
    rule: its sharding rule; empty: the values that shardings flow between have edges instead.
    built: the function that builds it. has_effect: whether it stays without users.
    compute: what it computes, on arrays with an axis of lanes; None: it is not run here.
    local, sent: its other facets; None: it has the default.
    """

    rows: tuple[OpRow, ...]
    specs: tuple[OpSpec, ...]
    use: str
    wrong: tuple[str, str, str] | None
    rule: str
    built: Callable[[Any], Any]
    has_effect: bool = False
    dialect: OpTable = stablehlo.OPS
    compute: Compute | None = None
    local: LocalRow | None = None
    sent: SentRow | None = None

    @property
    def facets(self) -> Iterator[tuple[Facet[Any], object]]:
        """The rows of the op in the engines."""
        computed = None if self.compute is None else ComputedRow(self.compute)
        pairs: list[tuple[Facet[Any], object]] = [
            (COMPUTED, computed),
            (LOCAL, self.local),
            (SENT, self.sent),
        ]
        return ((facet, row) for facet, row in pairs if row is not None)


KINDS = {
    "elementwise op": Kind(
        (
            OpRow(
                "soft_clip",
                operands=slots(operand=t.FLOAT),
                attributes=slots(limit=optional(k.I64, -1)),
                results=slots(result=t.FLOAT),
                traits=(NO_EFFECT,),
                form=Template(" $operand<, limit = $limit>", SAME),
                verify=(COMPATIBLE,),
                infer=infer_most_specific,
            ),
        ),
        (OpSpec("stablehlo.soft_clip", pointwise, is_elementwise=True, arity=1),),
        f"%0 = stablehlo.soft_clip %arg0, limit = 3 : {T}",
        (
            "f32",
            "i32",
            "operand #0 must be ranked tensor of 4/6/8/16/32/64-bit float values, but got 'tensor<8x4xi32>'",
        ),
        RULE,
        lambda x: elementwise.functions()["soft_clip"](x),
        compute=_soft_clip,
    ),
    "op with attributes and rules": Kind(
        (
            OpRow(
                "roll",
                operands=slots(operand=t.TENSOR),
                attributes=slots(dimension=k.INDEX, by=k.I64),
                results=slots(result=t.TENSOR),
                traits=(NO_EFFECT,),
                form=Template(" $operand, dim = $dimension, by = $by", SAME),
                verify=(follows_name(_check_dimension),),
                infer=infer_operand,
            ),
        ),
        (OpSpec("stablehlo.roll", _rolled),),
        f"%0 = stablehlo.roll %arg0, dim = 1, by = 2 : {T}",
        ("dim = 1", "dim = 2", "dimension should be less than the rank 2"),
        f"{RULE} permutation={{j}}",
        lambda x: rows.functions(ROLL)["roll"](x, -1, 2),
        compute=_roll,
    ),
    "windowed op": Kind(
        (
            OpRow(
                "blur",
                operands=slots(operand=t.FLOAT),
                attributes=slots(window_dimensions=k.INTEGERS, padding=k.TABLE),
                results=slots(result=t.TENSOR),
                traits=(NO_EFFECT,),
            ),
        ),
        (OpSpec("stablehlo.blur", _window_sums, policy=Policy(adjust=adjust_window), family=Family.WINDOW),),
        f'%0 = "stablehlo.blur"(%arg0) <{{padding = dense<[[0, 0], [1, 1]]> : tensor<2x2xi64>, '
        f"window_dimensions = array<i64: 1, 3>}}> : ({T}) -> {T}",
        ("f32", "i32", "operand #0 must be ranked tensor"),
        f"{RULE} permutation={{j}}",
        lambda x: emit("blur", x, results=x.type, window_dimensions=(1, 3), padding=((0, 0), (1, 1)))[0],
        compute=_sum_windows,
        local=LocalRow(windows=_exchanged_sums),
        sent=SentRow(reduce_window),
    ),
    "op with regions": Kind(
        (
            OpRow(
                "repeat",
                operands=slots(operand=many(t.TENSOR)),
                attributes=slots(times=k.I64),
                regions=regions("body"),
                results=slots(results=many(t.TENSOR)),
                traits=(RECURSIVE, LOOP_FLOW),
            ),
            OpRow("give", operands=slots(results=many(t.TENSOR)), traits=(PURE, TERMINATOR)),
        ),
        (
            OpSpec("stablehlo.repeat", rule_source=RuleSource.NONE, control=Control.LOOP),
            OpSpec("stablehlo.give", rule_source=RuleSource.NONE),
        ),
        f'%0 = "stablehlo.repeat"(%arg0) <{{times = 3 : i64}}> ({{\n    ^bb0(%arg1: {T}):\n'
        f'      "stablehlo.give"(%arg1) : ({T}) -> ()\n    }}) : ({T}) -> {T}',
        ("3 : i64", "3 : i32", "attribute 'times' failed to satisfy constraint: 64-bit signless integer"),
        "",
        _repeated,
    ),
    "op with effects": Kind(
        (
            OpRow(
                "probe",
                operands=slots(operand=t.FLOAT),
                results=slots(result=t.TENSOR),
                traits=(READS_AND_WRITES,),
                infer=infer_operand,
            ),
        ),
        (OpSpec("stablehlo.probe", pointwise),),
        f'%0 = "stablehlo.probe"(%arg0) : ({T}) -> {T}',
        ("f32", "i32", "operand #0 must be ranked tensor"),
        RULE,
        lambda x: emit("probe", x)[0],
        has_effect=True,
    ),
    "op of CHLO": Kind(
        (
            OpRow(
                "soft_sign",
                operands=slots(operand=t.ANY_FLOAT),
                results=slots(result=t.ANY_FLOAT),
                traits=(PURE,),
                form=Template(" $operand", ARROW),
            ),
        ),
        (OpSpec("chlo.soft_sign", pointwise, is_elementwise=True),),
        f"%0 = chlo.soft_sign %arg0 : {T} -> {T}",
        ("f32", "i32", "operand #0 must be tensor"),
        RULE,
        lambda x: emit("chlo.soft_sign", x, results=x.type)[0],
        dialect=chlo.OPS,
    ),
    "target of custom calls": Kind(
        (),
        (OpSpec("stablehlo.custom_call@my.gelu", pointwise),),
        f"%0 = stablehlo.custom_call @my.gelu(%arg0) : ({T}) -> {T}",
        None,
        RULE,
        lambda x: ops.custom_call("my.gelu", [x], x.type)[0],
        compute=_soft_clip,
        sent=SentRow(elementwise_op),
    ),
}


@pytest.fixture(scope="module", params=KINDS, autouse=True)
def kind(request: pytest.FixtureRequest) -> Iterator[Kind]:
    """The dialects with one more op."""
    new = KINDS[request.param]
    if new.rows:
        with pytest.raises(ShardyError, match=new.rows[0].name):
            parse_module(PROGRAM.replace("BODY", new.use))
    with pytest.MonkeyPatch.context() as patch:
        for row in new.rows:
            patch.setitem(new.dialect.rows, row.name, row)
            patch.setitem(new.dialect.by_class_name, row.class_name, row)
        for spec in new.specs:
            patch.setitem(TABLE, spec.name, spec)
            if spec.arity:
                opcode = elementwise_opcode(spec)
                patch.setitem(OPCODES, opcode.opcode, opcode)
            for facet, row in new.facets:
                patch.setitem(facet.rows, spec.name, row)
        _forget_unknown_ops()
        yield new
    _forget_unknown_ops()


def _forget_unknown_ops() -> None:
    syntax_table().forget_unknown_ops()
    verifier_rules.cache_clear()


def test_it_is_read_printed_and_verified(kind: Kind) -> None:
    text = PROGRAM.replace("BODY", kind.use)
    module = parse_module(text)
    assert print_module(module) == text
    assert find_faults(module) == ()
    if kind.wrong is not None:
        old, new, fault = kind.wrong
        (found,) = find_faults(parse_module(text.replace(old, new)))
        assert found.message.startswith(f"'{kind.specs[0].name}' op {fault}")


def test_its_class_and_effects(kind: Kind) -> None:
    function = parse_module(PROGRAM.replace("BODY", kind.use)).body.block.last_op
    assert isinstance(function, FuncOp)
    op = next(iter(function.body.block.ops))
    assert is_dead_when_unused(op) is not kind.has_effect
    for row in kind.rows:
        op_class = kind.dialect.class_named(row.class_name)
        assert pickle.loads(pickle.dumps(op_class)) is op_class
    if kind.rows and kind.rows[0].infer is not None:
        (value,) = test.TestOp(result_types=[TensorType(f32, [8, 4])]).results
        attributes = {name: plain(each) for name, each in op.properties.items()}
        again = type(op)(value, **attributes)  # pyright: ignore
        assert (again.results[0].type, again.properties) == (value.type, op.properties)


def test_shardings_propagate_through_it(kind: Kind) -> None:
    program = pipeline.read(PROGRAM.replace("BODY", kind.use))
    text = pipeline.write(pipeline.propagate(pipeline.prepare(program)))
    assert '-> (tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", ?}, {?}]>})' in text
    rules = re.findall(r"#sdy.op_sharding_rule<(.*?)>[}>]", text)
    assert rules == ([kind.rule] if kind.rule else [])
    assert ("sdy.data_flow_edge" in text) is not bool(kind.rule)


def test_the_builder_builds_it(kind: Kind) -> None:
    text = build(kind.built, tensor((8, 4))).text()
    line = kind.use.splitlines()[0].replace(", limit = 3", "")
    assert f"    {line}\n" in text


def _propagated(kind: Kind) -> Result:
    return propagate(Program.parse(PROGRAM.replace("BODY", kind.use)))


def test_it_is_partitioned_run_and_proven(kind: Kind) -> None:
    if kind.compute is None:
        pytest.skip("ops of this kind are run by handlers of their own")
    result = _propagated(kind)
    local = result.partition()
    assert "tensor<4x4xf32>" in local.text()
    x = np.arange(-16, 16, dtype=np.float32).reshape(8, 4) / 4
    op = next(op for op in result.program.module.walk() if row_name(record_of(op)) == kind.specs[0].name)
    wanted = kind.compute(record_of(op), x[None])[0]
    assert (result.program.run({"%arg0": x})["result 0"] == wanted).all()
    assert (local.run({"%arg0": x})["result 0"] == wanted).all()
    assert local.prove().is_equal


def test_its_costs_are_estimated(kind: Kind) -> None:
    """Each device stores and computes its half. XLA sends whole operands by default."""
    if kind.compute is None:
        pytest.skip("ops of this kind are run by handlers of their own")
    result = _propagated(kind)
    sent = [() if kind.specs[0].is_elementwise or kind.sent else ("all_gather",), ()]
    for partitioner, kinds in zip(("xla", "shardy"), sent, strict=True):
        report = result.communication(partitioner=partitioner)
        assert tuple(use.kind for use in report.sending) == kinds
    memory = result.memory(partitioner="shardy")
    assert memory.alive_bytes == 2 * 4 * 4 * 4
    assert memory.memory_bytes >= memory.alive_bytes
    assert result.time().seconds[0] > 0


def test_parts_that_need_elements_of_others(kind: Kind) -> None:
    """Sharded along the windows, or what is rolled: exchanged if its row says how, else gathered."""
    if kind.compute is None or "permutation" not in kind.rule:
        pytest.skip("no op of this kind reads elements of others")
    text = PROGRAM.replace("BODY", kind.use).replace('[{"x"}, {}]', '[{}, {"x"}]')
    local = propagate(Program.parse(text)).partition()
    sent = [name for name in ("collective_permute", "all_gather") if name in local.text()]
    assert sent == (["collective_permute"] if kind.local else ["all_gather"])
    assert local.prove().is_equal


def test_its_hlo_opcode(kind: Kind) -> None:
    """An elementwise op that states its arity is an opcode of that name with `-`."""
    for spec in kind.specs:
        opcode = spec.name.partition(".")[2].replace("_", "-")
        assert (opcode in OPCODES) is bool(spec.arity)
        if spec.arity:
            text = (
                f"HloModule m\nENTRY e {{\n  p = f32[8,4] parameter(0)\n  ROOT r = f32[8,4] {opcode}(p)\n}}"
            )
            main = hlo.read_module(text).entry_computation
            assert hlo.record_of(main.by_name["r"], main).name == spec.name


def test_the_guide_names_every_kind(root: Path) -> None:
    table = re.search(r"\| new op \|.*?\n\n", (root / "CONTRIBUTING.md").read_text(), re.DOTALL)
    assert table is not None
    named = re.findall(r"^\| (?!new op|---)(.*?) \|", table[0], re.MULTILINE)
    assert named == list(KINDS)
