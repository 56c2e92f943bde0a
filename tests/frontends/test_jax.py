"""What the JAX adaptor takes and gives, without devices; that it agrees with JAX: `test_compiled.py`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("jax", reason="JAX (extra: jax) is not installed")

import jax
import jax.numpy as jnp
from jax.sharding import AbstractMesh, AxisType, NamedSharding
from jax.sharding import PartitionSpec as JaxP

from shardy_py import UNCONSTRAINED, Mesh, P, Program, Sharding, ShardyError, dim, propagate
from shardy_py.frontends.jax import (
    from_named_sharding,
    jax_mesh,
    lower,
    mesh_of,
    named_sharding,
    partition_spec,
    program_of,
    propagate_function,
    propagate_lowered,
    sharding_of_value,
)

MESH = Mesh.of(x=4, y=2)


def abstract_mesh(*types: Any, **sizes: int) -> Any:
    kinds = types or (AxisType.Auto,) * len(sizes)
    return AbstractMesh(tuple(sizes.values()), tuple(sizes), axis_types=kinds)


GRID = abstract_mesh(x=4, y=2)


def array(shape: tuple[int, ...], *spec: Any, mesh: Any = GRID, dtype: Any = jnp.float32) -> Any:
    return jax.ShapeDtypeStruct(shape, dtype, sharding=NamedSharding(mesh, JaxP(*spec)))


def product(a: Any, b: Any) -> Any:
    return jnp.tanh(a @ b)


A, B = array((64, 32), "x"), array((32, 16), None, "y")
KEY = jax.eval_shape(lambda: jax.random.key(0))

# ---------------------------------------------------------------------- functions


@pytest.mark.parametrize(
    "function",
    [
        pytest.param(lambda: (product, A, B), id="plain"),
        pytest.param(lambda: (jax.jit(product), A, B), id="jitted"),
        pytest.param(lambda: (jax.jit(product).trace(A, B),), id="traced"),
        pytest.param(
            lambda: (jax.jit(product).trace(A, B).lower(lowering_platforms=("tpu",)),), id="lowered"
        ),
    ],
)
def test_what_can_be_lowered(function: Any) -> None:
    program = Program.from_jax(*function())
    assert [value.label for value in program.values.arguments()] == ["a", "b"]
    assert propagate(program)["result 0"].sharding == Sharding(MESH, P("x", "y"))


@pytest.mark.parametrize("stage", ["trace", "lower"])
def test_arguments_are_given_once(stage: str) -> None:
    jitted = jax.jit(lambda a: a + 1)
    staged = getattr(jitted, stage)(jnp.ones(4))
    with pytest.raises(
        ShardyError,
        match=rf"arguments for the result of `\.{stage}\(\.\.\.\)`, which has them already; pass none",
    ):
        lower(staged, jnp.ones(4))
    assert lower(staged)["%arg0"].shape == (4,)


def test_thousands_of_devices_need_none() -> None:
    mesh = abstract_mesh(x=64, y=64)
    found = propagate_function(lambda a: (a.T @ a, a.sum()), array((4096, 8192), "x", "y", mesh=mesh))
    assert found.out_shardings == (NamedSharding(mesh, JaxP("y")), NamedSharding(mesh, JaxP()))
    assert found.result["%arg0"].local_shape == (64, 128)


def test_shardings_come_in_the_trees_of_the_function() -> None:
    def f(weights: Any, unused: Any, *, scale: Any) -> Any:
        return {"out": (weights["w"] * scale, None)}

    unused = {"u": array((8,), "x")}
    found = propagate_function(f, {"w": A}, unused, scale=array(()))
    given = {"w": NamedSharding(GRID, JaxP("x"))}
    assert found.in_shardings == ((given, {"u": None}), {"scale": NamedSharding(GRID, JaxP())})
    assert found.out_shardings == {"out": (NamedSharding(GRID, JaxP("x")), None)}


def test_arguments_without_any_mesh_have_no_sharding() -> None:
    found = propagate_function(lambda a: a + 1, jnp.ones((4, 4)))
    assert (found.in_shardings, found.out_shardings) == (((None,), {}), None)


def test_shardings_on_a_mesh_of_devices() -> None:
    mesh = jax.make_mesh((1, 1), ("x", "y"), axis_types=(AxisType.Auto,) * 2)
    given = jax.device_put(jnp.ones((4, 4)), NamedSharding(mesh, JaxP("x")))
    found = propagate_function(lambda a: a.T, given, mesh=mesh)
    assert found.out_shardings.mesh is mesh
    assert jax.device_put(given, found.out_shardings).sharding == found.out_shardings


def test_the_shardings_chosen_can_be_given_to_jax() -> None:
    found = propagate_function(product, A, B)
    jitted = jax.jit(product, in_shardings=found.in_shardings[0], out_shardings=found.out_shardings)
    again = lower(jitted, *(jax.ShapeDtypeStruct(v.shape, v.dtype) for v in (A, B)))
    assert again["%arg1"].sharding == Sharding(MESH, P(None, "y"))
    assert again["result 0"].sharding == Sharding(MESH, P("x", "y"))


def test_as_written_keeps_the_functions_of_jax() -> None:
    inner = jax.jit(lambda a: jnp.sin(a) + 1)
    lowered = jax.jit(lambda a: inner(a) * inner(a)).trace(A).lower(lowering_platforms=("cpu",))
    assert program_of(lowered).functions == ("main",)
    written = program_of(lowered, as_written=True)
    assert len(written.functions) == 2
    assert written.text() == Program.parse(lowered.as_text(), as_compiled=False).text()
    assert program_of(lowered).text() == Program.parse(lowered.as_text()).text()


def test_annotations_are_kept() -> None:
    def f(a: Any) -> Any:
        return jax.lax.with_sharding_constraint(a * 2, NamedSharding(GRID, JaxP(JaxP.UNCONSTRAINED, "y")))

    (constraint,) = lower(f, A).values.of_op("sdy.sharding_constraint")
    assert constraint.sharding == Sharding(MESH, P(UNCONSTRAINED, "y"))


def test_unreduced_values() -> None:
    mesh = abstract_mesh(AxisType.Explicit, AxisType.Explicit, x=4, y=2)

    def f(a: Any, b: Any) -> Any:
        return jnp.einsum("ij,jk->ik", a, b, out_sharding=JaxP("x", None, unreduced={"y"}))

    spec = JaxP("x", unreduced={"y"})
    jitted = jax.jit(f, out_shardings=NamedSharding(mesh, spec))
    with jax.sharding.use_abstract_mesh(mesh):
        found = propagate_function(
            jitted, array((64, 32), "x", "y", mesh=mesh), array((32, 16), "y", mesh=mesh)
        )
    assert found.out_shardings.spec == spec
    assert found.out_shardings.mesh == mesh


def test_explicit_axes_stay_explicit() -> None:
    mesh = abstract_mesh(AxisType.Explicit, AxisType.Auto, x=4, y=2)
    with jax.sharding.use_abstract_mesh(mesh):
        found = propagate_function(jnp.sin, array((64, 32), "x", mesh=mesh))
    assert found.out_shardings == NamedSharding(mesh, JaxP("x"))
    assert found.in_shardings == ((NamedSharding(mesh, JaxP("x")),), {})


@pytest.mark.parametrize("mesh", [None, GRID])
def test_scalars_lie_on_the_mesh(mesh: Any) -> None:
    found = propagate_function(lambda a, s, k: (a * s, jax.random.fold_in(k, 1)), A, 2.0, KEY, mesh=mesh)
    assert found.in_shardings[0][1:] == (NamedSharding(GRID, JaxP()),) * 2
    assert found.out_shardings == (NamedSharding(GRID, JaxP("x")), NamedSharding(GRID, JaxP()))


def test_memory_kinds() -> None:
    host = NamedSharding(GRID, JaxP("x"), memory_kind="pinned_host")
    found = propagate_function(lambda a: (jax.device_put(a, host), a + 1), A)
    assert [sharding.memory_kind for sharding in found.out_shardings] == ["pinned_host", "device"]


# ---------------------------------------------------------------------- places

MODEL = """\
import jax, jax.numpy as jnp
def dense(x, w):
    return jax.nn.relu(
        x @ w)
def model(x, w):
    x = jnp.var(dense(x, w), axis=1)
    return x + jnp.var(x)
"""
LAYERS = """\
def apply(f, *arguments):
    return f(*arguments)
"""


def module_at(path: Path, text: str) -> Any:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    names: dict[str, Any] = {}
    exec(compile(text, str(path), "exec", dont_inherit=True), names)
    return SimpleNamespace(**names)


def test_values_stand_on_lines_of_the_model(tmp_path: Path) -> None:
    file = tmp_path / "model.py"
    program = lower(module_at(file, MODEL).model, A, B)
    lines = {value.location.split(" ")[0].rsplit(":", 1)[0] for value in program.values.of_op("reduce")}
    assert lines == {f"{file}:6", f"{file}:7"}
    (dot,) = program.values.of_op("dot_general")
    assert program.values.named("model.py:4") == [] or dot.location.startswith(f"{file}:4:")
    assert dot.location == f"{file}:4:8 jit(model)/dot_general"
    made = [value for value in program.values if value.role == "intermediate"]
    assert all(value.location.startswith((f"{file}:", __file__)) for value in made)


def test_answers_stand_on_lines_of_the_model(tmp_path: Path) -> None:
    file = tmp_path / "model.py"
    program = lower(module_at(file, MODEL).model, A, B)
    result = propagate(program)
    (dot,) = result.values.of_op("dot_general")
    told = str(result.explain(dot))
    assert f"{file}:4:8" in told
    assert "jax/_src" not in told
    keys = [row.key for row in result.communication().by_line]
    assert keys
    assert set(keys) <= {f"{file}:6", f"{file}:7"}


def test_frames_of_layer_libraries_are_passed_over(tmp_path: Path) -> None:
    layers = module_at(tmp_path / "lib" / "site-packages" / "flax" / "layers.py", LAYERS)
    file = tmp_path / "model.py"
    model = module_at(file, "def model(apply, f, x):\n    return apply(f, x)\n").model
    program = lower(lambda x: model(layers.apply, jnp.sin, x), A)
    (sine,) = program.values.of_op("sine")
    assert sine.location.startswith(f"{file}:2:")
    deeper = lower(lambda x: layers.apply(jnp.sin, x), A).values.of_op("sine")[0]
    assert deeper.location.startswith(__file__)


# ---------------------------------------------------------------------- shardings


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (P(), JaxP()),
        (P(None, None), JaxP()),
        (P("x"), JaxP("x")),
        (P(None, ("y", "x")), JaxP(None, ("y", "x"))),
        (P(UNCONSTRAINED, None), JaxP(JaxP.UNCONSTRAINED)),
        (P(dim("x", open=True, priority=1)), JaxP("x")),
        (P("x", unreduced={"y"}), JaxP("x", unreduced={"y"})),
    ],
)
def test_specs(spec: P, expected: Any) -> None:
    assert partition_spec(Sharding(MESH, spec)) == expected


@pytest.mark.parametrize(
    "spec",
    [
        JaxP(),
        JaxP("x"),
        JaxP(None, ("y", "x")),
        JaxP(JaxP.UNCONSTRAINED, "y"),
        JaxP("x", unreduced={"y"}),
    ],
)
def test_named_shardings_there_and_back(spec: Any) -> None:
    mesh = GRID if not spec.unreduced else abstract_mesh(*(AxisType.Explicit,) * 2, x=4, y=2)
    sharding = from_named_sharding(NamedSharding(mesh, spec), rank=3)
    assert sharding.value.rank == 3
    assert named_sharding(sharding, mesh) == NamedSharding(mesh, spec)


def test_meshes() -> None:
    assert mesh_of(GRID) == MESH
    assert jax_mesh(MESH) == GRID
    assert dict(jax_mesh(Mesh.of(x=64, y=64)).shape) == {"x": 64, "y": 64}


# ---------------------------------------------------------------------- what cannot be


def test_jax_is_missing() -> None:
    code = """
import sys
sys.modules["jax"] = None
from shardy_py import Program, ShardyError
try:
    Program.from_jax(lambda a: a, 1)
except ShardyError as error:
    print(error)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "error: JAX is not installed; `pip install 'shardy_py[jax]'`\n"


def test_nothing_of_jax_is_imported_early() -> None:
    code = "import sys, shardy_py, shardy_py.frontends.jax; print('jax' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "False\n"


def test_programs_lowered_for_gspmd() -> None:
    jax.config.update("jax_use_shardy_partitioner", False)
    try:
        with pytest.raises(ShardyError) as caught:
            lower(jax.jit(lambda a: a + 1), A)
    finally:
        jax.config.update("jax_use_shardy_partitioner", True)
    assert caught.value.diagnostics[0].message == (
        "a program that JAX lowered for GSPMD is unsupported; "
        "call jax.config.update('jax_use_shardy_partitioner', True) before lowering"
    )


def test_sub_axes_are_unsupported() -> None:
    with pytest.raises(ShardyError) as caught:
        partition_spec(Sharding(MESH, P(None, ("y", "x:(1)2"))))
    assert caught.value.diagnostics[0].message == (
        'sub-axis "x":(1)2 in dimension 1 of <@mesh, [{}, {"y", "x":(1)2}]>, which JAX cannot express, '
        "is unsupported; split the axis x of the mesh into two"
    )


def test_arguments_over_sub_axes_are_named() -> None:
    other = array((64, 32), "u", mesh=abstract_mesh(u=2, v=4))
    with pytest.raises(ShardyError, match=r"^error: b: sub-axis \"x\":\(1\)2 in dimension 0 of"):
        propagate_function(lambda a, b: (a + 1, b + 1), A, other)


def test_unreduced_over_an_axis_that_the_compiler_shards() -> None:
    with pytest.raises(ShardyError) as caught:
        named_sharding(Sharding(MESH, P("x", unreduced={"y"})), GRID)
    assert caught.value.diagnostics[0].message == (
        '<@mesh, [{"x"}], unreduced={"y"}> with the unreduced axis y, which is not explicit, is unsupported; '
        "pass a mesh in which y is AxisType.Explicit"
    )


@pytest.mark.parametrize("mesh", [{"x": 4}, {"x": 2, "y": 4}, {"y": 2, "x": 4}])
def test_meshes_differ(mesh: dict[str, int]) -> None:
    with pytest.raises(ShardyError) as caught:
        propagate_function(product, A, B, mesh=abstract_mesh(**mesh))
    assert caught.value.diagnostics[0].message == (
        f'a: mesh for <@mesh, [{{"x"}}, {{}}]>: expected {MESH}, got {Mesh.of(mesh)}; '
        "pass the mesh that the function was lowered for, or none"
    )


def test_one_device_of_many_has_no_named_sharding() -> None:
    program = Program.parse("""
sdy.mesh @only = <[], device_ids=[3]>
func.func @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@only, []>}) -> tensor<8xf32> {
  return %arg0 : tensor<8xf32>
}
""")
    with pytest.raises(ShardyError, match="on a maximal mesh, which has no NamedSharding, is unsupported"):
        sharding_of_value(program["%arg0"])
    assert sharding_of_value(program["result 0"]) is None


@pytest.mark.parametrize(
    ("wrong", "expected", "got"),
    [
        (lambda: lower(3), "a function, or the result of `jax.jit", "builtins.int: 3"),
        (lambda: lower(jax.jit(jnp.sin).lower(1.0).compile()), "a function, or the result of", "Compiled"),
        (lambda: program_of("module {}"), "the result of `.lower(...)` of a jitted function", "builtins.str"),
        (lambda: propagate_lowered(jax.jit(jnp.sin).trace(1.0)), "the result of `.lower(...)`", "Traced"),
        (lambda: propagate_function(product, A, B, mesh=MESH), "a jax.sharding.Mesh", "shardy_py"),
        (lambda: mesh_of(MESH), "a jax.sharding.Mesh or AbstractMesh", "shardy_py"),
        (lambda: from_named_sharding(JaxP("x")), "a NamedSharding", "P('x',)"),
    ],
)
def test_wrong_kinds(wrong: Any, expected: str, got: str) -> None:
    with pytest.raises(ShardyError) as caught:
        wrong()
    message = caught.value.diagnostics[0].message
    assert message.startswith(f"expected {expected}")
    assert got in message.split(", got ")[1]


def test_errors_of_jax_pass_through() -> None:
    with pytest.raises(TypeError, match="dot_general requires contracting dimensions to have the same shape"):
        lower(product, A, A)


def test_lowered_functions_can_be_propagated() -> None:
    lowered = jax.jit(product).trace(A, B).lower(lowering_platforms=("cpu",))
    assert propagate_lowered(lowered).out_shardings.spec == JaxP("x", "y")
