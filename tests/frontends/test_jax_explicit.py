"""Programs with explicit axes, JAX's default: advice in terms of what JAX accepts with them."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import pytest

pytest.importorskip("jax", reason="JAX (extra: jax) is not installed")

import jax
import jax.numpy as jnp
from jax.sharding import AbstractMesh, AxisType, NamedSharding, reshard, use_abstract_mesh
from jax.sharding import PartitionSpec as JaxP

from shardy_py import P, Program, Result, propagate
from shardy_py.search.advising import ResultAdvice

EXPLICIT = AbstractMesh((4, 2), ("data", "model"), axis_types=(AxisType.Explicit,) * 2)
AUTO = AbstractMesh((4, 2), ("data", "model"), axis_types=(AxisType.Auto,) * 2)
MIXED = AbstractMesh((4, 2), ("data", "model"), axis_types=(AxisType.Explicit, AxisType.Auto))


def array(mesh: Any, shape: tuple[int, ...], *spec: Any) -> Any:
    return jax.ShapeDtypeStruct(shape, jnp.float32, sharding=NamedSharding(mesh, JaxP(*spec)))


COLUMNS = JaxP(None, "model")


def resharded(x: Any, w: Any, spec: Any = COLUMNS) -> Any:
    y = jnp.tanh(jnp.dot(x, w, out_sharding=JaxP("data", "model")))
    y = reshard(y, spec)
    return y.sum(axis=1), reshard(y, JaxP("model"))


@cache
def lowered() -> Result:
    with use_abstract_mesh(EXPLICIT):
        x, w = array(EXPLICIT, (64, 128), "data"), array(EXPLICIT, (128, 256), None, "model")
        return propagate(Program.from_jax(resharded, x, w))


def test_types_of_explicit_axes_are_known() -> None:
    assert lowered().source.has_explicit_axes
    for mesh in (AUTO, MIXED):

        def constrained(x: Any, mesh: Any = mesh) -> Any:
            spec = JaxP(JaxP.UNCONSTRAINED, "model")
            return jax.lax.with_sharding_constraint(jnp.sin(x), NamedSharding(mesh, spec))

        assert not Program.from_jax(constrained, array(mesh, (64, 64), "data")).has_explicit_axes


def test_remedies_reshard() -> None:
    lines = [line for use in lowered().communication().sending for line in lowered().advice(use).lines]
    assert any(re.match(r"(remove )?jax\.sharding\.reshard( at |\()", line) for line in lines)
    assert not [line for line in lines if "with_sharding_constraint" in line or "sdy." in line]


def test_a_remedy_is_accepted_by_jax() -> None:
    """With a constraint for the reshard, JAX would say that it is an assertion that fails."""
    result = lowered()
    lines = dict.fromkeys(line for use in result.communication().sending for line in result.advice(use).lines)
    found = [
        match for line in lines if (match := re.match(r"jax\.sharding\.reshard at \S+: P\((.*?)\)", line))
    ]
    assert found
    with use_abstract_mesh(EXPLICIT):
        for match in found:
            spec = JaxP(*(part.strip('"') if part != "None" else None for part in match[1].split(", ")))
            x, w = array(EXPLICIT, (64, 128), "data"), array(EXPLICIT, (128, 256), None, "model")
            after = propagate(Program.from_jax(lambda x, w, spec=spec: resharded(x, w, spec), x, w))
            assert after.communication().total.bytes < result.communication().total.bytes


def test_plans_have_automatic_axes() -> None:
    suggested = lowered().source.suggest(tries=4, progress=False)
    assert "axis_types=(AxisType.Auto,) * 2" in suggested.best.code()
    removed = [line for line in suggested.best.code().splitlines() if line.startswith("# remove")]
    assert removed == [
        "# remove from the program, 64x256xf32 constrained to P('data', 'model') by out_sharding=:",
        "# remove from the program, 64x256xf32 constrained to P(None, 'model') by jax.sharding.reshard:",
        "# remove from the program, 64x256xf32 constrained to P('model') by jax.sharding.reshard:",
    ]
    (mesh,) = (line for line in suggested.diff().splitlines() if line.startswith("-mesh"))
    assert mesh.endswith("axis_types=(AxisType.Explicit,) * 2)")


def test_collectives_of_manual_computations_add_no_mesh() -> None:
    """JAX 0.12 names the mesh of their groups, which is the same as that of shardings."""
    x = array(AUTO, (64, 128), "data", "model")

    def summed(x: Any) -> Any:
        specs = {"in_specs": JaxP("data", "model"), "out_specs": JaxP("data")}
        return jax.shard_map(lambda x: jax.lax.psum(x, "model"), mesh=AUTO, **specs)(x)

    program = Program.from_jax(summed, x)
    assert program.annotate({"x": P("data")})["x"].sharding is not None
    assert program.suggest(tries=2, progress=False).best
    assert propagate(program).kept(ResultAdvice).sources is not None
