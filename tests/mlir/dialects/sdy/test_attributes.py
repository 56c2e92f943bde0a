"""sdy's attributes: text in ours and in xDSL's parser and printer; what jaxlib says of broken text."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin
from xdsl.parser import Parser
from xdsl.printer import Printer

from shardy_py.base.errors import ShardyError
from shardy_py.mlir.dialects import parse_module
from shardy_py.mlir.dialects.sdy import Sdy
from shardy_py.mlir.text.attribute_writer import attribute_text
from shardy_py.sharding import AxisEdge, AxisRef, EdgeValueRef, Mesh, MeshAxis, PropagationStep, SubAxis

EDGE = AxisEdge(AxisRef("x"), EdgeValueRef("operand", 0), (EdgeValueRef("result", 1),))

CASES: list[tuple[str, Any]] = [
    ('#sdy.mesh<["x"=2], device_ids=[1, 0]>', Mesh((MeshAxis("x", 2),), (1, 0))),
    ('#sdy<mesh_axis"x"=2>', MeshAxis("x", 2)),
    ("#sdy<sub_axis_info(2)4>", SubAxis(2, 4)),
    ('#sdy<axis_ref"x":(2)4>', AxisRef("x", SubAxis(2, 4))),
    ('#sdy<axis_ref_list{"x", "y"}>', (AxisRef("x"), AxisRef("y"))),
    ('#sdy<manual_axes{"x"}>', ("x",)),
    ("#sdy<dim_mapping ij>", (0, 1)),
    ("#sdy<tensor_mapping[ij, , z_1]>", ((0, 1), (), (18,))),
    ('#sdy<list_of_axis_ref_lists[{"x"}, {}]>', ((AxisRef("x"),), ())),
    ('#sdy<all_to_all_param{"x"}: 0->1>', ((AxisRef("x"),), 0, 1)),
    ('#sdy<all_to_all_param_list[{"x"}: 0->1]>', (((AxisRef("x"),), 0, 1),)),
    ("#sdy<edge_value_ref operand-3>", EdgeValueRef("operand", 3)),
    ('#sdy<axis_to_propagation_details{"x" = operand-0 -> [result-1]}>', EDGE),
    ('#sdy<propagation_one_step{step-2 = [{"x" = operand-0 -> [result-1]}]}>', PropagationStep(2, (EDGE,))),
    (
        '#sdy.propagation_edges<[{step-2 = [{"x" = operand-0 -> [result-1]}]}]>',
        (PropagationStep(2, (EDGE,)),),
    ),
]
MORE = ['#sdy.sharding<@m, [{"x", ?}p1]>', '#sdy<dimension_sharding{"x", ?}p1>', "#sdy<dimension_sharding{}>"]


def read(text: str) -> Any:
    return parse_module(f"module attributes {{a.b = {text}}} {{}}").attributes["a.b"]


@pytest.mark.parametrize(("text", "value"), CASES)
def test_text_and_plain_value(text: str, value: Any) -> None:
    attribute = read(text)
    assert attribute.plain() == value
    assert attribute_text(attribute) == text


@pytest.mark.parametrize("text", [text for text, _ in CASES] + MORE)
def test_xdsl_reads_and_prints_the_same(text: str) -> None:
    context = Context()
    context.load_dialect(Builtin)
    context.load_dialect(Sdy)
    attribute = Parser(context, text).parse_attribute()
    stream = StringIO()
    Printer(stream).print_attribute(attribute)
    assert stream.getvalue() == text
    assert attribute == read(text)


BROKEN = [
    "#sdy.propagation_edges<[]>",
    '#sdy.axis_ref<"x">',
    "#sdy<all_to_all_param{}: 0->1>",
    '#sdy<all_to_all_param{"x"}: 0>1>',
    '#sdy<mesh_axis"x"=0>',
    "#sdy<mesh_axis x=0>",
    '#sdy<mesh_axis"x"=y>',
    "#sdy<sub_axis_info(x)2>",
    "#sdy<sub_axis_info{1}2>",
    '#sdy<axis_ref"x":(y)2>',
    '#sdy<manual_axes{"x", y}>',
    "#sdy<manual_axes{1}>",
    '#sdy<axis_ref_list{"x", y}>',
    '#sdy<list_of_axis_ref_lists[{"x"}, {y}]>',
    '#sdy<all_to_all_param_list[{"x"}: 0->y]>',
    '#sdy.mesh<["x"=2, "y"=z]>',
    '#sdy.mesh<["x"=2], device_ids=[x]>',
    '#sdy.mesh<["x"=2], device_ids=[]>',
    '#sdy.mesh<["x"=2], devices=[0, 1]>',
    '#sdy.sharding<mesh<["x"=y]>, [{}]>',
    "#sdy.sharding<m, [{}]>",
    "#sdy.sharding<@m, [{x}]>",
    '#sdy.sharding<@m, [{"x":1}]>',
    '#sdy.sharding<@m, [{"x"}p01]>',
    '#sdy.sharding<@m, [{"x"}q1]>',
    "#sdy.sharding<@m, [{}], replicated={}>",
    '#sdy.sharding<@m, [{}], replicated{"x"}>',
    '#sdy.sharding<@m, [{}], replicated={#sdy<mesh_axis"x"=2>}>',
    '#sdy.sharding<@m, [{"x" ~}]>',
    "#sdy.op_sharding_rule<([i])->([i]) {i=x}>",
    "#sdy.op_sharding_rule<([i])->([i]) {i=2} reduction=i>",
    "#sdy.op_sharding_rule<([i j])->([i]) {i=2}>",
    "#sdy.op_sharding_rule<([z_])->([i]) {i=2}>",
    "#sdy.op_sharding_rule<([z_0])->([i]) {i=2}>",
    "#sdy.op_sharding_rule<([i_1])->([i]) {i=2}>",
    "#sdy.op_sharding_rule<([z_9223372036854775808])->([i]) {j=2}>",
    "#sdy.op_sharding_rule<()->([i]) {i=2}>",
    "#sdy.op_sharding_rule<([i])->([i]) {ij=2}>",
    "#sdy.op_sharding_rule<([i])->([i]) {j=2}>",
    '#sdy.propagation_edges<[{step-x = [{"x" = operand-0 -> [result-0]}]}]>',
    '#sdy.propagation_edges<[{step-0 = [{"x" = foo-0 -> [result-0]}]}]>',
    '#sdy.propagation_edges<[{step-0 = [{"x" = operand 0 -> [result-0]}]}]>',
    "#sdy.propagation_edges<[{step-0 = [{x = operand-0 -> [result-0]}]}]>",
    '#sdy.propagation_edges<[{step-0 = [{"x" = operand-0 -> []}]}]>',
    '#sdy.propagation_edges<[{stop-0 = [{"x" = operand-0 -> [result-0]}]}]>',
    '#sdy.propagation_edges<[{step-0 = [{"x" = operand-0 -> [operand-0]}]}]>',
]


@pytest.mark.parametrize("text", BROKEN)
def test_what_is_said_is_what_the_reference_says(text: str) -> None:
    ir = pytest.importorskip("jaxlib.mlir.ir", reason="jaxlib holds the C++ reference")
    from jaxlib.mlir.dialects import sdy

    source = f"module attributes {{a.b = {text}}} {{}}"
    context = ir.Context()
    sdy.register_dialect(context)
    with context, pytest.raises(ir.MLIRError) as theirs:
        ir.Module.parse(source)
    wanted = [f"{found.location}: {found.message}" for found in theirs.value.error_diagnostics]
    with pytest.raises(ShardyError) as ours:
        parse_module(source)
    got = [(found.where, found.message) for found in ours.value.diagnostics]
    assert [f'loc("-":{p and p.line}:{p and p.column}): {message}' for p, message in got] == wanted
