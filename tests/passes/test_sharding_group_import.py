from __future__ import annotations

from shardy_py.base.errors import collected_warnings
from shardy_py.mlir.dialects import parse_module
from shardy_py.mlir.ir import walk_pre_order
from shardy_py.passes.import_.constraints import synchronize_groups
from shardy_py.propagation.graph.slots import Slots

TEXT = """
sdy.mesh @mesh = <["a"=2, "b"=2]>
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}]>}, %b: tensor<8xf32> ATTR)
    -> tensor<8xf32> {
  sdy.sharding_group %a group_id=0 : tensor<8xf32>
  %0 = stablehlo.tanh %b : tensor<8xf32>
  sdy.sharding_group %0 group_id=0 : tensor<8xf32>
  sdy.sharding_group %b group_id=0 : tensor<8xf32>
  return %0 : tensor<8xf32>
}
"""


def synchronized(attribute: str) -> tuple[list[str], list[str], list[str]]:
    module = parse_module(TEXT.replace("ATTR", attribute))
    with collected_warnings() as warnings:
        synchronize_groups(module)
    slots = Slots()
    for op in walk_pre_order(module, include_root=False):
        slots.add(op)
    names = [op.name.split(".")[-1] for op in walk_pre_order(module)][3:]
    return [w.message for w in warnings], names, [str(s) for s in slots.shardings if s]


def test_members_get_the_sharding_of_the_one_that_has_one() -> None:
    warnings, names, shardings = synchronized("")
    assert (warnings, names) == ([], ["sharding_group", "tanh", "sharding_group", "sharding_group", "return"])
    assert shardings == ['<@mesh, [{"a"}]>'] * 3


def test_contradicting_members_get_open_constraints() -> None:
    warnings, names, shardings = synchronized('{sdy.sharding = #sdy.sharding<@mesh, [{"b"}]>}')
    assert [w.partition(" do not match.")[0] for w in warnings] == [
        "The initial operand shardings on the sharding groups of groupID: 0"
    ]
    assert sorted(names) == sorted([*("sharding_constraint " * 3).split(), *("sharding_group " * 3).split(),
                                    "tanh", "return"])  # fmt: skip
    assert shardings.count("<@mesh, [{?}]>") == 3
