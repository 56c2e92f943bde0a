"""Functions of HLO and of StableHLO: what becomes a node, what is only a wire, and that both say the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from shardy_py.base.errors import ShardyError
from shardy_py.hlo.analysis import (
    Function,
    function_maps,
    hlo_function,
    mlir_function,
    mlir_functions,
    node_maps,
)
from shardy_py.hlo.text import read_module
from shardy_py.mlir.dialects import parse_module

Corpus = Callable[[str], str]


def hlo(body: str, functions: str = "") -> Function:
    return hlo_function(read_module(f"HloModule m\n{functions}\nENTRY main {{\n{body}\n}}"))


def read(function: Function) -> list[list[list[str]]]:
    return [[[str(m).splitlines()[0] for m in maps] for maps in row] for row in function_maps(function)]


def test_asynchronous_pairs_are_the_op_itself() -> None:
    function = hlo("""p = f32[4] parameter(0)
        s = (f32[4], f32[8]) all-gather-start(p), dimensions={0}, replica_groups={{0,1}}
        d = f32[8] all-gather-done(s)
        c = (f32[8], f32[8], u32[]) copy-start(d)
        ROOT e = f32[8] copy-done(c)""")
    assert [n.record.name for n in function.nodes] == ["stablehlo.all_gather", "hlo.copy"]
    assert read(function) == [[["(d0) -> (d0 mod 4),"]]]


def test_async_computations() -> None:
    function = hlo(
        """p = f32[4] parameter(0)
        s = ((f32[4]), f32[4], s32[]) async-start(p), calls=back
        u = ((f32[4]), f32[4], s32[]) async-update(s)
        ROOT d = f32[4] async-done(u)""",
        "back { x = f32[4] parameter(0)\n ROOT r = f32[4] reverse(x), dimensions={0} }",
    )
    assert read(function) == [[["(d0) -> (-d0 + 3),"]]]


def test_tuples_are_wires() -> None:
    function = hlo("""p = (f32[2], (s32[3], f32[4])) parameter(0)
        q = (s32[3], f32[4]) get-tuple-element(p), index=1
        b = (s32[3], f32[4]) opt-barrier(q)
        x = f32[4] get-tuple-element(b), index=1
        n = f32[4] negate(x)
        ROOT t = (f32[4], (s32[3], f32[4])) tuple(n, b)""")
    assert function.parameter_names == ("p.0", "p.1", "p.2")
    assert (len(function.nodes), function.results) == (1, (3, 1, 2))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            "p = (f32[2]) parameter(0)\nROOT x = f32[2] get-tuple-element(p), index=1",
            r"-:5:6: error: 'get-tuple-el",
        ),
        (
            "p = f32[2] parameter(0)\nROOT c = f32[2] call(p, p), to_apply=one",
            r"-:5:6: error: 'call' c: other operands or results than 'one'",
        ),
        (
            "p = f32[2] parameter(0)\nROOT c = (f32[2]) all-gather-start(p), dimensions={0}",
            r"-:5:6: error: 'all-g",
        ),
    ],
)
def test_misfits(body: str, message: str) -> None:
    with pytest.raises(ShardyError, match=message):
        hlo(body, "one { x = f32[2] parameter(0) }")


def test_deep_calls_are_no_depth_of_ours() -> None:
    one = "f0 { x = f32[4] parameter(0)\n ROOT n = f32[4] reverse(x), dimensions={0} }\n"
    one += "".join(
        f"f{i} {{ x = f32[4] parameter(0)\n y = f32[4] call(x), to_apply=f{i - 1}\n"
        f" ROOT z = f32[4] call(y), to_apply=f{i - 1} }}\n"
        for i in range(1, 400)
    )
    function = hlo("p = f32[4] parameter(0)\nROOT c = f32[4] call(p), to_apply=f399", one)
    assert read(function) == [[["(d0) -> (d0),"]]]


def test_unknown_computation() -> None:
    with pytest.raises(ShardyError, match="unknown computation 'x'"):
        hlo_function(read_module("HloModule m\ne { p = f32[] parameter(0) }"), "x")


MLIR = """
func.func @main(%a: tensor<4xf32>, %b: tensor<4xf32>, %c: tensor<i32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = func.call @back(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "stablehlo.case"(%c) ({
    stablehlo.return %0 : tensor<4xf32>
  }, {
    %2 = stablehlo.negate %b : tensor<4xf32>
    stablehlo.return %2 : tensor<4xf32>
  }) : (tensor<i32>) -> tensor<4xf32>
  %3 = stablehlo.optimization_barrier %1 : tensor<4xf32>
  %4:2 = stablehlo.while(%i = %c, %x = %b) : tensor<i32>, tensor<4xf32>
    cond {
      %5 = stablehlo.compare LT, %i, %c : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %5 : tensor<i1>
    } do {
      %6 = stablehlo.add %i, %i : tensor<i32>
      %7 = stablehlo.add %x, %3 : tensor<4xf32>
      stablehlo.return %6, %7 : tensor<i32>, tensor<4xf32>
    }
  return %3, %4#1 : tensor<4xf32>, tensor<4xf32>
}
func.func private @back(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.reverse %a, dims = [0] : tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""


def test_regions_and_calls_of_mlir() -> None:
    function = mlir_function(parse_module(MLIR))
    assert [n.form for n in function.nodes] == ["call", "branches", "loop"]
    assert read(function) == [
        [["(d0) -> (-d0 + 3),"], ["(d0) -> (d0),"], ["(d0) -> (),"]],
        [["(d0)[s0] -> (-s0 + 3),"], ["(d0)[s0] -> (s0),"], ["(d0) -> (),"]],
    ]
    assert set(mlir_functions(parse_module(MLIR))) == {"main", "back"}
    assert (
        node_maps(function.nodes[0])[0][0] == function_maps(mlir_function(parse_module(MLIR), "back"))[0][0]
    )


def test_composites_read_what_their_decomposition_reads() -> None:
    call = "func.call @back(%a) : "
    composite = 'stablehlo.composite "back" %a {decomposition = @back} : '
    function = mlir_function(parse_module(MLIR.replace(call, composite)))
    assert read(function) == read(mlir_function(parse_module(MLIR)))


@pytest.mark.parametrize(
    ("parameter", "result", "call"),
    [
        ("f32[4,1]", "f32[4]", "f32[4] call(p), to_apply=f"),
        ("f32[5]", "f32[4]", "f32[4] call(p), to_apply=f"),
        ("f32[4]", "f32[4,1]", "f32[4] call(p), to_apply=f"),
        ("f32[4]", "f32[4]", "f32[4] call(p, p), to_apply=f"),
        ("f32[4]", "f32[4]", "f32[2,2] fusion(p), kind=kLoop, calls=f"),
        ("token[]", "f32[4]", "f32[4] call(p), to_apply=f"),
    ],
)
def test_calls_fit_their_computations(parameter: str, result: str, call: str) -> None:
    text = f"""HloModule m
    f {{ q = {parameter} parameter(0)\n ROOT r = {result} custom-call(q), custom_call_target="g" }}
    ENTRY e {{ p = f32[4] parameter(0)\n ROOT c = {call} }}"""
    with pytest.raises(ShardyError, match=r"^-:5:7: error: '.*' c: other operands or results than 'f'"):
        hlo_function(read_module(text))


def test_elements_of_tuples_have_the_shapes_of_their_users() -> None:
    body = """p = (s32[], f32[4]) parameter(0)
    ROOT x = f32[4] get-tuple-element(p), index=0"""
    with pytest.raises(ShardyError, match="'get-tuple-element' x: other shape than its operands") as error:
        hlo(body)
    assert str(error.value).startswith("-:5:10: ")


def test_a_module_without_functions_has_a_place() -> None:
    with pytest.raises(ShardyError, match="2:1: error: the module has no function"):
        mlir_function(parse_module("\nmodule {}"))


def test_sizes_of_calls_may_be_unbounded() -> None:
    text = """HloModule m
    f { q = f32[?] parameter(0)\n ROOT r = f32[?] negate(q) }
    ENTRY e { p = f32[4] parameter(0)\n ROOT c = f32[4] call(p), to_apply=f }"""
    assert hlo_function(read_module(text)).nodes[0].form == "call"


def test_recursion_is_refused() -> None:
    text = """func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> {
      %0 = func.call @f(%a) : (tensor<4xf32>) -> tensor<4xf32>
      return %0 : tensor<4xf32>
    }"""
    with pytest.raises(ShardyError, match="recursion or too deep calls of function @f"):
        mlir_function(parse_module(text))


@pytest.mark.parametrize(
    "program", ["mlp_train", "transformer_forward", "moe", "embedding_scatter", "priorities"]
)
def test_hlo_and_stablehlo_have_the_same_maps(program: str, corpus: Corpus) -> None:
    jax: Any = pytest.importorskip("jaxlib._jax", reason="jaxlib (extra: reference) is not installed")
    text = corpus(program)
    made = jax.mlir.mlir_module_to_xla_computation(text, use_tuple_args=False, return_tuple=False)
    ours = function_maps(mlir_function(parse_module(text)))
    theirs = function_maps(hlo_function(read_module(made.as_hlo_text())))
    assert [[set(map(str, m)) for m in row] for row in ours] == [
        [set(map(str, m)) for m in row] for row in theirs
    ]


def test_results_of_a_whole_program_read_the_arguments_that_flow_into_them(corpus: Corpus) -> None:
    module = parse_module(corpus("transformer_train"))
    body = next(op for op in module.walk() if op.name == "func.func").regions[0].block
    flowing: dict[Any, set[int]] = {argument: {argument.index} for argument in body.args}
    for op in body.ops:
        indices = set[int]().union(*(flowing[operand] for operand in op.operands))
        flowing |= dict.fromkeys(op.results, indices)
    (*_, terminator) = body.ops
    grid = function_maps(mlir_function(module))
    assert [{i for i, maps in enumerate(row) if maps} for row in grid] == [
        flowing[operand] for operand in terminator.operands
    ]
