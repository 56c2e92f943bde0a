"""Programs: reading, looking up, annotating."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from shardy_py.api import UNCONSTRAINED, Mesh, P, Program, Sharding, ShardyError
from tests.api.programs import MATMUL


@pytest.fixture(scope="module")
def program() -> Program:
    return Program.parse(MATMUL, "matmul.mlir")


def test_values_by_every_name(program: Program) -> None:
    dot = program["%0"]
    assert (
        dot.entry is program["model.py:7"].entry is program["model.py:7:3"].entry is program["@main:%0"].entry
    )
    assert dot.location == "model.py:7:3 jit(f)/dot"
    assert (dot.shape, dot.element_type, dot.op_name) == ((32, 64), "f32", "stablehlo.dot_general")
    assert program["params['w']"].name == "%arg1"
    assert program["out"].entry is program["result 0"].entry
    assert [v.name for v in program.values.of_op("tanh")] == ["%1"]
    assert [v.name for v in program.values.arguments()] == ["%arg0", "%arg1"]
    assert [v.label for v in program.values.results()] == ["out"]
    copy = program.copy()
    for known in (program, program.values):
        assert "x" in known
        assert dot in known
        assert program["out"] in known
        assert all(other not in known for other in ("y", 0, copy["%0"], copy["out"]))
    assert [v.role for v in program.values] == ["argument", "argument", *["intermediate"] * 2, "result"]


def test_unknown_and_ambiguous_names() -> None:
    program = Program.parse(
        MATMUL.replace("@main", "@f") + MATMUL.replace("@main", "@g").replace("sdy.mesh @mesh", "sdy.mesh @n")
    )
    with pytest.raises(ShardyError, match=r"unknown value '%7'"):
        program["%7"]
    with pytest.raises(ShardyError, match=r"did you mean 'out'"):
        program["outt"]
    with pytest.raises(
        ShardyError,
        match=r"ambiguous name '%0': expected one value, got 2 values: @f:%0, @g:%0; use one of these names",
    ):
        program["%0"]
    with pytest.raises(ShardyError, match=r"2 values: @main:%iterArg \(stablehlo.while, .*; use a location"):
        Program.parse(LOOP)["%iterArg"]


def test_annotating_gives_another_program(program: Program) -> None:
    before = program.text()
    text = program.annotate(
        {"x": P("data"), "out": P(None, "model"), "%0": '<@mesh, [{"data"}, {?}]>'}
    ).text()
    assert program.text() == before
    assert '%arg0: tensor<32x128xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}' in text
    assert '%1 = sdy.sharding_constraint %0 <@mesh, [{"data"}, {?}]> : tensor<32x64xf32>' in text
    assert "%2 = stablehlo.tanh %1" in text
    assert '{jax.result_info = "out", sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}]>}' in text


def test_specs_may_be_read_once(program: Program) -> None:
    """As generators."""
    spec = cast(Any, (part for part in ("data", None)))
    assert program.annotate({"x": spec})["x"].sharding == Sharding(program.meshes["mesh"], P("data", None))


def test_annotations_are_removed(program: Program) -> None:
    names = ("x", "out", "%0")
    annotated = program.annotate(dict.fromkeys(names, P("data", None)))
    assert annotated.annotate(dict.fromkeys(names)).text() == program.text()
    constraint = annotated.values.of_op("sdy.sharding_constraint")[0]
    assert "sharding_constraint" not in annotated.annotate({constraint: None}).text()


def test_meshes_are_found_or_added(program: Program) -> None:
    same = program.annotate({"x": Sharding(Mesh.of(data=4, model=2), P("model"), mesh_name="other")})
    assert list(same.meshes) == ["mesh"]
    added = program.annotate({"x": Sharding(Mesh.of(a=2), P("a"))})
    assert added["x"].sharding == Sharding(Mesh.of(a=2), P("a", None), mesh_name="mesh_0")
    inlined = program.annotate({"x": '<mesh<["a"=2]>, [{"a"}, {}]>'})
    assert inlined["x"].sharding == added["x"].sharding
    assert list(program.with_mesh(Mesh.of(data=2, model=2), "@mesh").meshes) == ["mesh"]
    assert program.with_mesh(Mesh.of(data=2, model=2)).meshes["mesh"].device_count == 4
    odd = Mesh.of({'a"b': 2, "é": 2})
    spelled = program.with_mesh(odd, "c d").annotate({"x": '<@"c d", [{"a\\22b"}, {}]>'}).text()
    assert Program.parse(spelled)["%arg0"].sharding == Sharding(odd, P('a"b', None), mesh_name="c d")


def test_groups_and_barriers(program: Program) -> None:
    text = program.group("%0", "%1").barrier("%0", direction="FORWARD").text()
    assert text.count("sdy.sharding_group") == 2
    assert "sdy.propagation_barrier %0 allowed_direction=FORWARD" in text
    with pytest.raises(ShardyError, match="expected members of equal shape, got"):
        program.group("%0", "x")
    with pytest.raises(ShardyError, match="unknown direction 'UP'"):
        program.barrier("%0", direction="UP")
    with pytest.raises(ShardyError, match="use the returned value"):
        program.barrier("out")


@pytest.mark.parametrize(
    ("annotation", "message"),
    [
        (P("dat"), 'annotation of %arg0 .x.: sharding <@mesh, .*unknown axis name: "dat"'),
        (
            P(None, None, "data"),
            "annotation of %arg0 .x.: .* expected at most 2 dimensions, the rank of the tensor, got 3",
        ),
        ("<@m, [{}]>", "unknown mesh '@m': expected '@mesh'"),
        (3, "expected a sharding such as"),
        (b"<@mesh, [{}]>", "expected a sharding such as"),
        (SimpleNamespace(spec=P("data")), r"expected a sharding such as .*; pass its \.spec"),
    ],
)
def test_annotations_that_do_not_fit(program: Program, annotation: object, message: str) -> None:
    with pytest.raises(ShardyError, match=message):
        program.annotate({"x": annotation})  # pyright: ignore


def test_a_mesh_is_needed() -> None:
    program = Program.parse(
        "func.func @main(%arg0: tensor<8xf32>) -> tensor<8xf32> { return %arg0 : tensor<8xf32> }"
    )
    with pytest.raises(ShardyError, match=r"expected one mesh .*, got none; use Sharding"):
        program.annotate({"%arg0": P("x")})
    assert program.with_mesh(Mesh.of(x=2)).annotate({"%arg0": P(UNCONSTRAINED)})["%arg0"].sharding


def test_passes_by_name(program: Program) -> None:
    closed = program.annotate({"x": P(UNCONSTRAINED)}).run("sdy-close-shardings")
    assert str(closed["x"].sharding) == "<@mesh, [{}, {}]>"
    assert program.run("sdy-propagation-pipeline", dedup_functions_fully=True).text()
    with pytest.raises(ShardyError, match="unknown pass or pipeline 'sdy-x'"):
        program.run("sdy-x")


def test_files(tmp_path: Path) -> None:
    file = tmp_path / "a.mlir"
    file.write_text(MATMUL)
    assert Program.load(file).text() == Program.parse(MATMUL.encode()).text()
    with pytest.raises(ShardyError, match="cannot open input file"):
        Program.load(tmp_path / "b.mlir")
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(
        ShardyError,
        match=r"a.mlir: expected a program as text, bytecode or a protocol buffer, got invalid UTF-8",
    ):
        Program.load(file)


def test_errors_of_ops_without_a_location_name_the_file(tmp_path: Path) -> None:
    file = tmp_path / "a.mlir"
    argument = 'tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}]>}'
    body = f"func.func @main(%arg0: {argument}) {{\n  return\n}} loc(unknown)"
    file.write_text(f'sdy.mesh @mesh = <["x"=2]>\n{body}\n')
    with pytest.raises(ShardyError, match=rf"^{file}: error: 'func.func' op arg 0 - unknown axis name"):
        Program.load(file)


def test_bytecode() -> None:
    jax = pytest.importorskip("jax", reason="JAX (extra: jax) is not installed")
    exported = jax.export.export(jax.jit(lambda x: x + 1))(jax.ShapeDtypeStruct((4,), "float32"))
    assert "stablehlo.add" in Program.parse(exported.mlir_module_serialized).text()
    with pytest.raises(ShardyError, match="<program>: error: MLIR bytecode at byte 4: expected a number"):
        Program.parse(b"ML\xefRxx")


def test_a_module_is_copied(program: Program) -> None:
    copy = Program.from_module(program.module)
    assert copy.module is not program.module
    assert copy.text() == program.text()


LOOP = """
sdy.mesh @mesh = <["x"=2]>
sdy.mesh @one = <[], device_ids=[1]>
func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<i1>) -> tensor<8xf32> {
  %0 = stablehlo.while(%iterArg = %arg0) : tensor<8xf32>
  cond {
    stablehlo.return %arg1 : tensor<i1>
  } do {
    %1 = stablehlo.tanh %iterArg : tensor<8xf32>
    stablehlo.return %1 : tensor<8xf32>
  }
  return %0 : tensor<8xf32>
}
"""


def test_arguments_of_functions_and_of_regions() -> None:
    program = Program.parse(LOOP)
    barred = program.barrier("%arg0", direction="FORWARD")
    assert "sdy.propagation_barrier %arg0 allowed_direction=FORWARD" in barred.text()
    (inner,) = [v for v in program.values.named("%iterArg") if v.entry.value in _used(program)]
    held = program.annotate({inner: P("x")})
    assert 'sdy.sharding_constraint %iterArg <@mesh, [{"x"}]>' in held.text()


def _used(program: Program) -> set[object]:
    (tanh,) = program.values.of_op("tanh")
    return set(tanh.entry.op.operands)


@pytest.mark.parametrize("key", ["%1", "%2"])
def test_annotations_take_the_place_of_others(key: str) -> None:
    program = Program.parse(LOOP).annotate({"%1": P("x")})
    (changed,) = program.annotate({key: P()}).values.of_op("sharding_constraint")
    assert str(changed.sharding) == "<@mesh, [{}]>"


def test_annotations_of_what_another_takes_away() -> None:
    program = Program.parse(LOOP).annotate({"%1": P("x")})
    with pytest.raises(ShardyError, match="annotation of %2: it is a constraint that another edit removes"):
        program.annotate({"%1": None, "%2": P()})


MANUAL = """
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%arg0: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"x"}, {"y"}]>]
      out_shardings=[<@mesh, [{"x"}, {"y"}]>] manual_axes={"x"} (%arg1: tensor<4x8xf32>) {
    %2 = stablehlo.tanh %arg1 : tensor<4x8xf32>
    sdy.return %2 : tensor<4x8xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %1:2 = stablehlo.optimization_barrier {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>,
      <@mesh, [{"y"}, {}]>]>} %0, %arg0 : tensor<8x8xf32>, tensor<8x8xf32>
  %3 = stablehlo.add %1#0, %1#1 : tensor<8x8xf32>
  return %3 : tensor<8x8xf32>
}
"""


def test_annotations_of_manual_computations_are_constraints() -> None:
    text = Program.parse(MANUAL).annotate({"%arg1": P("y"), "%0": P(None, "x")}).text()
    assert '%4 = sdy.sharding_constraint %arg1 <@mesh, [{"y"}, {}]> : tensor<4x8xf32>' in text
    assert '%1 = sdy.sharding_constraint %0 <@mesh, [{}, {"x"}]> : tensor<8x8xf32>' in text
    assert text.count('<@mesh, [{"x"}, {"y"}]>') == 2


def test_only_what_is_named_is_removed() -> None:
    program = Program.parse(MANUAL)
    without = program.annotate(dict.fromkeys(("%1#1", "%arg1", "%0")))
    found = {name: str(without[name].sharding) for name in ("%1#0", "%1#1", "%0")}
    assert found == {
        "%1#0": '<@mesh, [{"x"}, {}]>',
        "%1#1": "<@mesh, [{?}, {?}]>",
        "%0": '<@mesh, [{"x", ?}, {?}]>',
    }
    assert 'in_shardings=[<@mesh, [{"x", ?}, {?}]>]' in without.text()
    assert "sharding_per_value" not in without.annotate({"%1#0": None}).text()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda p: Program.parse(cast(Any, 3)), "expected the text of a program, or bytecode, got 3"),
        (lambda p: Program.from_module(cast(Any, 3)), "expected a module of xDSL, got 3"),
        (lambda p: p.annotate([1]), "expected shardings by value"),
        (lambda p: p.annotate({3.5: P()}), "the name, source location or number of a value, got 3.5"),
        (lambda p: p.annotate({"x": '<@mesh, [{"x"'}), r"invalid sharding '.*': expected ',' at 1:13"),
        (lambda p: Program.load(cast(Any, None)), "expected the path of a file, got None"),
        (lambda p: Program.load(MATMUL), "expected the path of a file, got .*; Program.parse takes text"),
        (lambda p: Program.parse("a.mlir"), "got the name of a file, 'a.mlir'; Program.load reads"),
        (lambda p: p.with_mesh([2] * 999), r"got \[2, (2, )*2\.\.\.$"),
        (lambda p: Program.load("a\0b"), r"cannot open input file 'a\\x00b': embedded null"),
        (lambda p: p.with_mesh(cast(Any, "x")), "expected a Mesh such as .*, got 'x'"),
        (lambda p: p.with_mesh(Mesh.of(), cast(Any, 3)), "expected the name of a mesh, got 3"),
        (lambda p: p.values.named(3), "expected the name, label or source location of a value, got 3"),
        (lambda p: p.values.arguments(3), "expected the name of a function, got 3"),
        (lambda p: p.run("sdy-close-shardings", depth=1), "sdy-close-shardings: unknown option 'depth'"),
        (
            lambda p: p.run("sdy-basic-propagate", conservative_propagation=3),
            "sdy-basic-propagate, conservative_propagation: expected a value like False, got 3",
        ),
        (
            lambda p: p.run("sdy-user-priority-propagate", propagation_strategy="x"),
            "propagation_strategy: unknown value 'x': expected one of 'basic', ",
        ),
    ],
)
def test_mistakes(program: Program, call: Callable[[Any], object], message: str) -> None:
    with pytest.raises(ShardyError, match=message):
        call(program)


def test_arguments_and_results_of_functions() -> None:
    lone = Program.parse(
        "func.func @f(%arg0: tensor<8xf32>) -> tensor<8xf32> { return %arg0 : tensor<8xf32> }"
    )
    assert [str(v) for v in (*lone.values.arguments(), *lone.values.results())] == ["@f:%arg0", "@f:result 0"]
    assert lone.values.arguments("@f") == lone.values.arguments("f")
    assert repr(Program.parse("")) == "<Program of no functions>"
    for name in (None, "main", "g"):
        program = lone if name == "g" else Program.parse("")
        with pytest.raises(ShardyError, match=r"unknown function '@"):
            program.values.arguments(name)


def test_a_spec_is_on_the_mesh_that_has_its_axes() -> None:
    program = Program.parse(LOOP).with_mesh(Mesh.of(x=2, y=2), "other")
    assert str(program.annotate({"%arg0": P("y")})["%arg0"].sharding) == '<@other, [{"y"}]>'
    with pytest.raises(ShardyError, match=r"mesh of P\('x'\): expected one mesh .*, got @other <.*>, @mesh"):
        program.annotate({"%arg0": P("x")})
    with pytest.raises(
        ShardyError, match=r"mesh of P\(None, replicated={'z'}\): expected one mesh .*, got @other <"
    ):
        program.annotate({"%arg0": P(None, replicated="z")})
