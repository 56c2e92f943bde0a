"""Roles of dimensions, after which schemes are named: training steps, states of optimizers, labels, heads."""

from __future__ import annotations

from typing import Any

from shardy_py import Mesh, P, Program
from shardy_py.frontends.builder import Argument, build, ops, tensor
from shardy_py.search.suggest import Roles, absent_schemes
from shardy_py.search.suggest_variables import variables_of

MESH = Mesh.of(data=2, model=2)


def roles_of(function: Any, *shapes: tuple[int, ...]) -> Roles:
    arguments = (Argument(tensor(shape, "f32"), P()) for shape in shapes)
    return variables_of(build(function, *arguments, mesh=MESH)).roles


def kinds(roles: Roles) -> list[tuple[str, ...]]:
    return [tuple(map(roles.kind, own)) for own in roles.classes[: roles.arguments]]


def test_states_of_an_optimizer_count_as_their_weight() -> None:
    def step(x: Any, up: Any, down: Any, m_up: Any, m_down: Any, v_up: Any, v_down: Any, labels: Any) -> Any:
        error = ops.tanh(x @ up) @ down - labels
        return error, up + m_up + v_up, down + m_down + v_down

    up, down = (32, 128), (128, 48)
    roles = roles_of(step, (64, 32), up, down, up, down, up, down, (64, 48))
    assert kinds(roles)[:3] == [("batch", "features"), ("features", "inner"), ("inner", "other")]
    # The second dimension of the labels is that of a weight, not of positions.
    assert roles.sequence is None
    assert "sequence parallel" in absent_schemes(roles, MESH)


def test_flattened_labels_do_not_make_positions_the_batch() -> None:
    def loss(x: Any, up: Any, down: Any, labels: Any) -> Any:
        y = ops.tanh(x @ up) @ down
        return ops.reshape(y, (16 * 12, 32)) - ops.reshape(labels, (16 * 12, 32))

    roles = roles_of(loss, (16, 12, 32), (32, 128), (128, 32), (16, 12, 32))
    assert kinds(roles)[0] == ("batch", "sequence", "features")
    assert kinds(roles)[3][0] == "batch"


STEP = """
sdy.mesh @mesh = <["data"=2, "model"=2]>
func.func @main(%up: tensor<16x64xf32> loc("{0}"), %down: tensor<64x16xf32> loc("{1}"),
                %x: tensor<8x16xf32> loc("x"), %dy: tensor<8x16xf32> loc("dy"))
    -> (tensor<8x16xf32>, tensor<16x64x{2}>, tensor<64x16x{2}>) {{
  %h = stablehlo.dot_general %x, %up, contracting_dims = [1] x [0]
    : (tensor<8x16xf32>, tensor<16x64xf32>) -> tensor<8x64xf32>
  %y = stablehlo.dot_general %h, %down, contracting_dims = [1] x [0]
    : (tensor<8x64xf32>, tensor<64x16xf32>) -> tensor<8x16xf32>
  %dh = stablehlo.dot_general %dy, %down, contracting_dims = [1] x [1]
    : (tensor<8x16xf32>, tensor<64x16xf32>) -> tensor<8x64xf32>
  %dup = stablehlo.dot_general %x, %dh, contracting_dims = [0] x [0]
    : (tensor<8x16xf32>, tensor<8x64xf32>) -> tensor<16x64x{2}>
  %ddown = stablehlo.dot_general %h, %dy, contracting_dims = [0] x [0]
    : (tensor<8x64xf32>, tensor<8x16xf32>) -> tensor<64x16x{2}>
  return %y, %dup, %ddown : tensor<8x16xf32>, tensor<16x64x{2}>, tensor<64x16x{2}>
}}
"""


def test_no_dimension_of_a_parameter_of_torch_is_the_batch() -> None:
    """The hidden one is in more results of products of the step: names tell, or what is returned."""
    names = ("net.up.weight", "net.down.weight")
    unknown, returned, named = (
        kinds(variables_of(Program.parse(STEP.format(*given))).roles)
        for given in (("a", "b", "bf16"), ("a", "b", "f32"), (*names, "bf16"))
    )
    assert unknown[0][1] == "batch"
    assert [[own[0] for own in each] for each in (returned, named)] == [
        ["features", "inner", "batch", "batch"]
    ] * 2


def trained(x: Any, labels: Any, up: Any, down: Any) -> Any:
    """A step of gradient descent on two layers."""
    h = ops.tanh(x @ up)
    dy = h @ down - labels
    dh = dy @ ops.transpose(down, (1, 0))
    return up - ops.transpose(x, (1, 0)) @ dh, down - ops.transpose(h, (1, 0)) @ dy


def test_the_batch_of_a_step_is_no_dimension_of_what_it_returns() -> None:
    """The hidden dimension is in four of five products, the batch in three."""
    shapes = (8, 16), (8, 12), (16, 64), (64, 12)
    assert kinds(roles_of(trained, *shapes))[:2] == [("batch", "features"), ("batch", "other")]
    behind = kinds(roles_of(lambda up, down, x, y: trained(x, y, up, down), *shapes[2:], *shapes[:2]))
    assert [own[0] for own in behind[2:]] == ["batch", "batch"]


def test_states_of_a_recurrence_have_the_batch() -> None:
    def recurrent(x: Any, state: Any, w: Any, u: Any) -> Any:
        return ops.tanh(x @ w + state @ u)

    roles = roles_of(recurrent, (8, 16), (8, 32), (16, 32), (32, 32))
    assert [own[0] for own in kinds(roles)[:2]] == ["batch", "batch"]


def test_caches_have_the_batch() -> None:
    def decoded(x: Any, cache: Any, w: Any) -> Any:
        k = ops.reshape(x @ w, (8, 1, 32))
        return ops.concatenate([cache, k], 1)[:, 1:]

    assert kinds(roles_of(decoded, (8, 16), (8, 24, 32), (16, 32)))[1][0] == "batch"


HEADS = """
sdy.mesh @mesh = <["data"=2, "model"=2]>
func.func @main(%x: tensor<64x32xf32>, %w: tensor<32x8x16xf32>, %v: tensor<32x96xf32>)
    -> (tensor<64x8xf32>, tensor<64x96xf32>) {
  %q = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
      : (tensor<64x32xf32>, tensor<32x8x16xf32>) -> tensor<64x8x16xf32>
  %k = stablehlo.custom_call @opaque(%x) : (tensor<64x32xf32>) -> tensor<64x8x16xf32>
  %s = stablehlo.dot_general %q, %k, batching_dims = [0, 1] x [0, 1], contracting_dims = [2] x [2]
      : (tensor<64x8x16xf32>, tensor<64x8x16xf32>) -> tensor<64x8xf32>
  %u = stablehlo.dot_general %x, %v, contracting_dims = [1] x [0]
      : (tensor<64x32xf32>, tensor<32x96xf32>) -> tensor<64x96xf32>
  return %s, %u : tensor<64x8xf32>, tensor<64x96xf32>
}
"""


def test_heads_are_no_experts_where_ops_without_a_rule_hide_the_data() -> None:
    roles = variables_of(Program.parse(HEADS)).roles
    assert kinds(roles)[0][0] == "batch"
    assert roles.experts == frozenset()
    assert (
        absent_schemes(roles, MESH)["expert parallel"] == "no weights that are batched in products with data"
    )
