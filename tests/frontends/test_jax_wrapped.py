"""Functions wrapped by flax and equinox are taken as `jax.jit`'s are; a shape for an array is explained."""

from __future__ import annotations

from typing import Any

import pytest

from shardy_py import Program, ShardyError, propagate

jax = pytest.importorskip("jax", reason="jax is not installed")


def rows(*shape: int) -> Any:
    """An abstract array of these sizes, its first dimension sharded along `data`."""
    from jax.sharding import AbstractMesh, AxisType, NamedSharding, PartitionSpec

    mesh = AbstractMesh((4, 2), ("data", "model"), axis_types=(AxisType.Auto,) * 2)
    return jax.ShapeDtypeStruct(shape, "float32", sharding=NamedSharding(mesh, PartitionSpec("data")))


def labels(program: Program) -> list[str]:
    return [value.label for value in program.values.arguments()]


def is_sharded(program: Program) -> bool:
    result = propagate(program, progress=False)
    return any(value.sharding and value.shape == (8, 4) for value in result.values.results())


def test_nnx_jit() -> None:
    nnx = pytest.importorskip("flax.nnx", reason="flax is not installed")
    model = nnx.Linear(4, 4, rngs=nnx.Rngs(0))
    jitted = nnx.jit(lambda model, x: model(x))
    for function, arguments in ((jitted, (model, rows(8, 4))), (jitted.trace(model, rows(8, 4)), ())):
        program = Program.from_jax(function, *arguments)
        assert labels(program)[-1] == "x"
        assert is_sharded(program)
    assert Program.from_jax(jitted.lower(model, jax.numpy.ones((8, 4)))).functions == ("main",)


def test_eqx_filter_jit() -> None:
    eqx = pytest.importorskip("equinox", reason="equinox is not installed")
    model = eqx.nn.MLP(4, 4, 8, 1, key=jax.random.key(0))  # which holds its activation, a function

    def loss(model: Any, x: Any, power: int) -> Any:
        return (jax.vmap(model)(x) ** power).sum()

    program = Program.from_jax(eqx.filter_jit(eqx.filter_value_and_grad(loss)), model, rows(8, 4), power=2)
    assert labels(program) == [
        *("model.layers[0].weight", "model.layers[0].bias", "model.layers[1].weight", "model.layers[1].bias"),
        "x",
    ]
    donated = Program.from_jax(eqx.filter_jit(loss, donate="all"), model, rows(8, 4), 2)
    assert "jax.buffer_donor" in donated.text() or "tf.aliasing_output" in donated.text()
    lowered = eqx.filter_jit(loss).lower(model, jax.numpy.ones((8, 4)), 2)
    assert len(labels(Program.from_jax(lowered))) == 5


def test_eqx_modules_and_their_methods() -> None:
    eqx = pytest.importorskip("equinox", reason="equinox is not installed")

    class Net(eqx.Module):
        linear: Any
        scale: float = 2.0

        @eqx.filter_jit
        def __call__(self, x: Any) -> Any:
            return jax.vmap(self.linear)(x) * self.scale

    net = Net(eqx.nn.Linear(4, 4, key=jax.random.key(0)))
    for function in (net, net.__call__):
        program = Program.from_jax(function, rows(8, 4))
        assert [label.rpartition(".")[2] for label in labels(program)[:2]] == ["weight", "bias"]
        assert is_sharded(program)


def test_a_shape_is_no_array() -> None:
    with pytest.raises(
        ShardyError, match=r"argument 0: expected an array, .*got numbers, \(8, 8\); a shape is"
    ):
        Program.from_jax(jax.jit(lambda x: x.T), (8, 8))
    with pytest.raises(TypeError, match="positional argument"):  # an error of the function is its own
        Program.from_jax(jax.jit(lambda x: x), rows(8, 4), rows(8, 4))
