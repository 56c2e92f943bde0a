from __future__ import annotations

from typing import Any

import pytest
from xdsl.dialects.builtin import ModuleOp

from shardy_py.base.errors import ShardyError
from shardy_py.mlir.dialects import parse_module
from shardy_py.mlir.ir import walk_pre_order
from shardy_py.ops import Role
from shardy_py.propagation.graph.build import build_program
from shardy_py.propagation.graph.slots import FlatModule
from shardy_py.propagation.rules import derive_rule
from shardy_py.sharding import DimensionSharding, TensorSharding
from tests.mlir.programs import DEAD, MANUAL, WHILE


def build(text: str) -> FlatModule:
    return build_program(parse_module(text), derive_rule)


def steps(program: FlatModule) -> list[tuple[str, tuple[int, ...]]]:
    return [
        (op.name.split(".")[-1], slots)
        for op, slots in zip(program.step_ops, program.flat.step_slots, strict=True)
    ]


def test_targets_share_the_slot_of_their_edge() -> None:
    program = build(WHILE)
    # 1: the function's result, 2 and 3: its arguments, 4: the edge, 5: %0#1, 6: compare, 7: tanh, 8: negate
    assert steps(program) == [
        ("compare", (5, 5, 6)),
        ("tanh", (4, 7)),
        ("data_flow_edge", (2, 7, 4)),
        ("negate", (4, 8)),
    ]
    assert [(v.slot, v.result_slot) for v in program.flat.returned] == [(8, 1)]
    assert [str(s) for s in program.flat.shardings if s] == ['<@mesh, [{"a"}, {?}]>']
    assert set(program.meshes) == {"mesh"}


def test_changes_wake_the_maker_then_the_newest_user() -> None:
    flat = build(WHILE).flat
    # The edge's targets: the users of the block arguments, then the edge itself, then its own users.
    assert flat.dependents[4] == (1, 2, 3)
    assert flat.dependents[2] == (2,)
    assert flat.dependents[7] == (1, 2)
    flat = build("""
    func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {
      %0 = stablehlo.tanh %a : tensor<8xf32>
      %1 = stablehlo.negate %0 : tensor<8xf32>
      %2 = stablehlo.add %0, %1 : tensor<8xf32>
      return %2 : tensor<8xf32>
    }""").flat
    assert flat.dependents[3] == (0, 2, 1)


def test_edges_at_manual_borders() -> None:
    program = build(MANUAL)
    kinds = [program.flat.kinds[k] for k in program.flat.step_kinds]
    borders = [k.boundary for k in kinds if k.boundary]
    assert [(b.is_argument, b.manual_axes) for b in borders] == [(True, ("a",)), (False, ("a",))]
    # The edge of the argument reads the operand outside, which does not wake it.
    (argument, *_) = program.flat.step_slots[0]
    assert 0 not in program.flat.dependents[argument]
    assert program.flat.other_readers == {argument: (0,)}


def test_roles_and_sharing() -> None:
    program = build("""
    func.func @main(%a: tensor<8xf32>, %s: tensor<f32>) -> tensor<8xf32> {
      %0 = stablehlo.tanh %a : tensor<8xf32>
      %1 = stablehlo.add %0, %0 : tensor<8xf32>
      %2 = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<8xf32>
      %3 = stablehlo.tanh %s : tensor<f32>
      %4 = sdy.propagation_barrier %1 allowed_direction=FORWARD : tensor<8xf32>
      %5 = stablehlo.add %4, %2 : tensor<8xf32>
      return %5 : tensor<8xf32>
    }""")
    kinds = [program.flat.kinds[k] for k in program.flat.step_kinds]
    assert [(k.role, k.has_shared_operand) for k in kinds] == [
        (Role.PASS_THROUGH, False),
        (Role.PASS_THROUGH, True),
        (Role.BROADCAST, False),
        (Role.PASS_THROUGH, False),
        (Role.BARRIER, False),
        (Role.PASS_THROUGH, False),
    ]
    assert kinds[4].barrier_direction == 1


def test_rules_of_the_user_come_first() -> None:
    program = build("""
    func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {
      %0 = stablehlo.custom_call @mine(%a) {
          sdy.sharding_rule = #sdy.op_sharding_rule<([i])->([i]) {i=8}, custom>}
          : (tensor<8xf32>) -> tensor<8xf32>
      return %0 : tensor<8xf32>
    }""")
    (kind,) = (program.flat.kinds[k] for k in program.flat.step_kinds)
    assert kind.rule is not None
    assert kind.rule.is_custom


def test_several_results_are_siblings() -> None:
    program = build(
        """
    func.func @main(%a: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
      %0:2 = "test.pair"(%a) {sdy.sharding_rule = #sdy.op_sharding_rule<([i])->([i], [i]) {i=8}, custom>}
          : (tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
      return %0#0, %0#1 : tensor<8xf32>, tensor<8xf32>
    }""".replace("test.pair", "stablehlo.custom_call").replace("(%a) {", '(%a) <{call_target_name = "p"}> {')
    )
    (slots,) = program.flat.step_slots
    assert program.flat.siblings == dict.fromkeys(slots[1:3], tuple(slots[1:3]))


def test_groups_and_their_dependents() -> None:
    program = build("""
    func.func @main(%a: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<8xf32> {
      sdy.sharding_group %a group_id=0 : tensor<8xf32>
      sdy.sharding_group %b group_id=0 : tensor<8xf32>
      %0 = stablehlo.tanh %b : tensor<8xf32>
      return %0 : tensor<8xf32>
    }""")
    others = {slot: list(program.flat.other_members(slot)) for slot in program.flat.groups}
    assert {slot: [(m.slot, m.dependents) for m in members] for slot, members in others.items()} == {
        2: [(3, (0,))],
        3: [(2, ())],
    }


def test_calls_connect_functions_when_they_have_edges() -> None:
    program = build("""
    func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {
      %0 = call @f(%a) : (tensor<8xf32>) -> tensor<8xf32>
      %1 = sdy.func_data_flow_edge %0 : tensor<8xf32>
      return %1 : tensor<8xf32>
    }
    func.func private @f(%b: tensor<8xf32>) -> tensor<8xf32> {
      %0 = sdy.func_data_flow_edge %b : tensor<8xf32>
      %1 = stablehlo.tanh %0 : tensor<8xf32>
      return %1 : tensor<8xf32>
    }""")
    # 1, 2: main; 3: the call's result, 4: the edge behind it; 5, 6: f; 7: the edge of its argument; 8: tanh
    assert steps(program) == [
        ("func_data_flow_edge", (8, 4)),
        ("func_data_flow_edge", (2, 7)),
        ("tanh", (7, 8)),
    ]
    assert program.flat.dependents[2] == (1,)
    assert program.flat.dependents[8] == (2, 0)


@pytest.mark.parametrize(
    ("type_", "message"),
    [
        ("tensor<?xf32>", "only supports ranked tensors with a static shape. type: 'tensor<?xf32>'"),
        ("tuple<tensor<8xf32>>", "doesn't support tuples: 'tuple<tensor<8xf32>>'"),
    ],
)
def test_shapes_must_be_static(type_: str, message: str) -> None:
    with pytest.raises(ShardyError, match="Shardy propagation ") as error:
        build(f"""func.func @main(%a: tensor<8xf32>) {{
  %0 = "stablehlo.custom_call"(%a) <{{call_target_name = "x"}}> : (tensor<8xf32>) -> {type_}
  return
}}""")
    (diagnostic,) = error.value.diagnostics
    assert message in diagnostic.message
    assert diagnostic.where is not None
    assert diagnostic.where.line == 2


def test_dead_ops_get_steps_in_program_order() -> None:
    program = build(DEAD)
    assert [name for name, _ in steps(program)] == ["constant", "add", "negate", "tanh"]
    assert {op.name for op in program.dead_ops} == {"stablehlo.constant", "stablehlo.add", "stablehlo.negate"}
    liveness = program.flat.liveness
    assert liveness is not None
    assert liveness.remaining_uses == {0: 0, 1: 1, 2: 0}


def shardings_of(module: ModuleOp) -> dict[str, Any]:
    return {
        f"{op.name}.{name}": value.data
        for op in walk_pre_order(module)
        for name, value in (op.attributes | op.properties).items()
        if "sharding" in name
    }


def test_writing_back_what_changed() -> None:
    module = parse_module(WHILE)
    program = build_program(module, derive_rule)
    new = TensorSharding("mesh", (DimensionSharding((), True), DimensionSharding()))
    shardings = list(program.flat.shardings)
    for slot in (1, 3, 4, 8):
        shardings[slot] = new
    program.write(shardings)
    assert shardings_of(module) == {
        "sdy.data_flow_edge.sharding": new,
        "stablehlo.negate.sdy.sharding": (new,),
    }
    function: Any = next(op for op in walk_pre_order(module) if op.name == "func.func")
    arguments = [d.data.get("sdy.sharding") for d in function.properties["arg_attrs"].data]
    assert [str(a.data) for a in arguments] == ['<@mesh, [{"a"}, {?}]>', "<@mesh, [{}, {?}]>"]
    assert sorted(function.properties["res_attrs"].data[0].data) == ["jax.result_info", "sdy.sharding"]


def test_writing_back_erases_dead_ops() -> None:
    module = parse_module(DEAD)
    program = build_program(module, derive_rule)
    program.write(program.flat.shardings)
    names = [op.name for op in walk_pre_order(module)]
    assert names == ["builtin.module", "sdy.mesh", "func.func", "stablehlo.tanh", "func.return"]


def test_results_of_an_op_share_their_siblings() -> None:
    results = ", ".join(["tensor<8xf32>"] * 50)
    text = f"  %1:50 = stablehlo.custom_call @f(%arg0) : (tensor<8xf32>) -> ({results})"
    source = f"func.func @main(%arg0: tensor<8xf32>) {{\n{text}\n  return\n}}"
    siblings = build(source).flat.siblings
    assert len(siblings) == 50
    assert len({id(slots) for slots in siblings.values()}) == 1
