"""What users pass: meshes and shardings of other packages, empty meshes, mistakes that need a good answer."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from shardy_py.api import Mesh, P, Program, Result, Sharding, ShardyError, propagate
from shardy_py.check import check
from shardy_py.frontends.torch import placements as torch_placements
from shardy_py.testing import assert_sharding
from tests.api.programs import MATMUL

SCALAR = MATMUL.replace(
    "func.func", "sdy.mesh @empty_mesh = <[]>\nsdy.mesh @one = <[], device_ids=[0]>\nfunc.func"
)
MANUAL = """
sdy.mesh @mesh = <["data"=4, "model"=2]>
func.func @main(%arg0: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"data"}, {"model", ?}]>]
      out_shardings=[<@mesh, [{"data"}, {}]>] manual_axes={"data"} (%arg1: tensor<2x16xf32>) {
    %1 = stablehlo.tanh %arg1 : tensor<2x16xf32>
    sdy.return %1 : tensor<2x16xf32>
  } : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}
"""
LARGER = Mesh.of(data=8, model=2)


@pytest.fixture(scope="module")
def result() -> Result:
    return propagate(Program.parse(MATMUL, "matmul.mlir").annotate({"x": P("data")}))


def test_meshes_without_axes_do_not_count() -> None:
    """JAX puts scalars on @empty_mesh."""
    result = propagate(Program.parse(SCALAR).annotate({"x": P("data")}))
    assert next(change.name for change in result.what_if({"x": P()}).changes) == "%arg0"
    assert result.what_if(mesh=LARGER).after["x"].local_shape == (4, 128)
    assert_sharding(result, "x", P("data"))
    empty = Program.parse("sdy.mesh @empty_mesh = <[]>\n" + MATMUL.partition("\n")[2].partition("\n")[2])
    assert str(empty.annotate({"x": P()})["x"].sharding) == "<@empty_mesh, [{}, {}]>"


@pytest.mark.parametrize("mesh", [LARGER, {"data": 8, "model": 2}])
def test_meshes_are_also_sizes_by_axis(result: Result, mesh: Any) -> None:
    assert result.what_if(mesh=mesh).after.program.meshes["mesh"] == LARGER
    assert result.what_if(mesh={"@mesh": mesh}).after.program.meshes["mesh"] == LARGER
    assert result.source.with_mesh(mesh).meshes["mesh"] == LARGER
    assert Sharding(mesh, P("data")).mesh == LARGER


def test_the_mesh_of_stablehlo_is_that_of_sdy(result: Result) -> None:
    """The pipeline writes it; programs that JAX lowers have it before."""
    described = (
        '{stablehlo.mesh = {axes = [{name = "data", size = 8 : i64}, {name = "model", size = 2 : i64}]}}'
    )
    line = f'sdy.mesh @mesh = <["data"=8, "model"=2]> {described}'
    given = Program.parse(result.text())
    assert line in given.with_mesh(LARGER).text()
    assert line in propagate(given).what_if(mesh=LARGER).after.text()
    assert "stablehlo.mesh" not in Program.parse(MATMUL).with_mesh(LARGER).text()


def test_meshes_and_shardings_of_jax(result: Result) -> None:
    sharding: Any = pytest.importorskip("jax", reason="needs jax").sharding
    auto = (sharding.AxisType.Auto,) * 2
    larger = sharding.AbstractMesh((8, 2), ("data", "model"), axis_types=auto)
    assert result.what_if(mesh=larger).after.program.meshes["mesh"] == LARGER
    mesh = sharding.AbstractMesh((4, 2), ("data", "model"), axis_types=auto)
    named = sharding.NamedSharding(mesh, sharding.PartitionSpec(None, "model"))
    comparison = result.what_if({"x": named})
    assert str(comparison.after["x"].sharding) == '<@mesh, [{}, {"model"}]>'
    assert_sharding(comparison.after, "x", named)
    with pytest.raises(AssertionError, match=r'got      \[{"data"}, {}\]'):
        assert_sharding(result, "x", named)
    other = sharding.NamedSharding(larger, sharding.PartitionSpec("data"))
    assert result.source.annotate({"x": other}).meshes["mesh_0"] == LARGER
    single = sharding.SingleDeviceSharding(importlib.import_module("jax").devices()[0])
    with pytest.raises(ShardyError, match=r"annotation of %arg0 \(x\): expected a NamedSharding, got jax"):
        result.what_if({"x": single})


def test_placements(result: Result, monkeypatch: pytest.MonkeyPatch) -> None:
    """With classes like those of torch, which need not be installed."""
    body = {"__init__": lambda self, *dim: vars(self).update(dim=(*dim, None)[0])}
    names = ("Replicate", "Partial", "Shard", "_StridedShard")
    types = {name: type(name, (), {**body, "__module__": "torch.distributed.tensor"}) for name in names}
    monkeypatch.setattr(torch_placements, "torch_module", lambda name: SimpleNamespace(**types))
    shard, replicate = cast(Any, types["Shard"]), cast(Any, types["Replicate"])
    after = result.what_if({"x": [replicate(), shard(1)]}).after
    assert str(after["x"].sharding) == '<@mesh, [{}, {"model"}]>'
    assert_sharding(after, "x", (replicate(), shard(1)))
    for given, message in (
        ([shard(0)], "expected one mesh of 1 dimensions in the program, one for each placement, got @mesh <"),
        ([shard(0)] * 3, "expected one mesh of 3 dimensions"),
    ):
        with pytest.raises(ShardyError, match=message):
            result.what_if({"x": given})


@pytest.mark.torch
def test_torch_placements(result: Result) -> None:
    tensor: Any = pytest.importorskip("torch.distributed.tensor", reason="needs torch")
    after = result.what_if({"x": [tensor.Replicate(), tensor.Shard(1)]}).after
    assert_sharding(after, "x", (tensor.Replicate(), tensor.Shard(1)))
    with pytest.raises(ShardyError, match="expected"):
        result.what_if({"x": tensor.Shard(1)})


def test_manual_computations_keep_the_sizes_of_their_axes() -> None:
    result = propagate(Program.parse(MANUAL))
    for mesh in (LARGER, Mesh.of(model=2)):
        message = r'expected "data"=4, the sizes .*, got <.*>; trace the function again on the new mesh'
        with pytest.raises(ShardyError, match=message):
            result.what_if(mesh=mesh)
        with pytest.raises(ShardyError, match=message):
            result.source.with_mesh(mesh)
    assert result.what_if(mesh=Mesh.of(data=4, model=4)).after["%arg0"].local_shape == (2, 4)


def test_a_new_mesh_without_an_axis(result: Result) -> None:
    mesh = Mesh.of(model=2)
    message = (
        r'new mesh @mesh <\["model"=2\]>: .*unknown axis name: "data"; change the annotations on the mesh'
    )
    with pytest.raises(ShardyError, match=message):
        result.what_if(mesh=mesh)
    assert result.what_if({"x": P("model")}, mesh=mesh).after["x"].local_shape == (16, 128)


def test_an_axis_of_another_mesh() -> None:
    program = Program.parse(MATMUL).with_mesh(Mesh.of(stage=2), "pipeline")
    message = r'the mesh has "data", "model"; @pipeline has it: <\["stage"=2\]>'
    with pytest.raises(ShardyError, match=message):
        program.annotate({"x": '<@mesh, [{"stage"}]>'})


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda r: check(r.source), r"expected the Result of propagate\(program\), got <Program of @main>"),
        (lambda r: r.sides(0), r"expected a collective of this result, got 0; result.communication\(\)"),
        (
            lambda r: Program(cast(Any, len)),
            "expected a module of xDSL, got <built-in function len>; Program.p",
        ),
        (lambda r: r.source.values.of_op(3), "expected the name of an op, got 3"),
        (lambda r: r["w"], r"unknown value 'w': .*; did you mean \"params\['w'\]\""),
        (lambda r: r["tanh"], "unknown value 'tanh': .*; did you mean 'op=tanh'"),
        (lambda r: r["op=tan"], "unknown value 'op=tan': .*; did you mean 'op=tanh'"),
        (lambda r: r.what_if({"x": "data"}), r"sdy text such as <@mesh.*a spec such as P\(.*, got 'data'"),
        (lambda r: r.what_if(cast(Any, 0)), "expected shardings by value, .*, got 0"),
        (lambda r: r.what_if(mesh={3: LARGER}), "meshes by name: expected the name of a mesh, got 3"),
        (lambda r: r.what_if(mesh={"mesh": 2.5}), "expected a Mesh such as Mesh.of.*, got 2.5"),
        (lambda r: r.why_not("x", -1, "data"), "expected a dimension from 0 to 1, got -1"),
        (
            lambda r: Program.parse("HloModule m\n\nENTRY e {}"),
            "<program>:3:9: error: computation 'e' has no instructions",
        ),
    ],
)
def test_mistakes(result: Result, call: Callable[[Any], object], message: str) -> None:
    with pytest.raises(ShardyError, match=message):
        call(result)


def test_explanations_of_a_line_and_of_an_op(result: Result) -> None:
    text = MATMUL.replace("tanh %0 : tensor<32x64xf32>", 'tanh %0 : tensor<32x64xf32> loc("model.py":7:9)')
    both = propagate(Program.parse(text).annotate({"x": P("data")}))
    assert [found.place.name for found in both.explain("model.py:7")] == ["%0", "%1"]
    assert str(both.explain("model.py:7")).count("dim 0 is sharded along data") == 2
    assert str(both.explain("op=tanh")) == str(both.explain("op=stablehlo.tanh")) == str(both.explain("%1"))
    assert both.explain(both["%1"]) == both.explain("%1") == both.explain(cast(Any, 3))
    assert result["op=tanh"] == result["%1"]


def test_an_annotation_that_does_not_divide_evenly_is_a_warning() -> None:
    text = """sdy.mesh @mesh = <["x"=4]>
func.func @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>} loc("w"))
    -> (tensor<8xf32>, tensor<6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
  %0 = stablehlo.slice %arg0 [0:6] : (tensor<8xf32>) -> tensor<6xf32>
  return %arg0, %0 : tensor<8xf32>, tensor<6xf32>
}"""
    (warning,) = propagate(Program.parse(text, "model.mlir")).warnings
    assert "warning: result 1: the annotation" in str(warning)
    assert "dimension 0 of size 6 is not divisible by 4" in str(warning)
