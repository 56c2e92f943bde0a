"""The auto-partitioner: it may add and change shardings, and whatever else it does is found."""

# pyright: reportPrivateUsage=false
from __future__ import annotations

import re
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest
from xdsl.dialects.builtin import DictionaryAttr, ModuleOp, StringAttr, TensorType, UnitAttr, f32
from xdsl.ir import Operation, Region

from shardy_py.base.errors import ShardyError
from shardy_py.cli.pass_text import build_step
from shardy_py.mlir.dialects import parse_module, print_module
from shardy_py.mlir.dialects.sdy import (
    MeshAttr,
    MeshOp,
    OpShardingRuleAttr,
    TensorShardingAttr,
    TensorShardingPerValueAttr,
)
from shardy_py.mlir.holders import Holder, Place, write_all
from shardy_py.mlir.ir import erase
from shardy_py.passes.propagate.auto_partition import (
    AutoPartitioner,
    auto_partitioner,
    clear_auto_partitioner,
    register_auto_partitioner,
    registered_auto_partitioner,
)
from shardy_py.passes.runner import run_passes
from shardy_py.sharding import AxisRef, DimensionSharding, Mesh, MeshAxis, ShardingRule, TensorSharding

PROGRAM = """
sdy.mesh @mesh = <["a"=2, "b"=2]>
func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<8xf32> {mhlo.donated}) -> tensor<8xf32> {
  %0 = stablehlo.add %arg0, %arg1 : tensor<8xf32>
  %1 = sdy.sharding_constraint %0 <@mesh, [{"a", ?}]> : tensor<8xf32>
  %2 = stablehlo.abs %1 : tensor<8xf32>
  return %2 : tensor<8xf32>
}
"""
BY_A, BY_B = (TensorSharding("mesh", (DimensionSharding((AxisRef(name),), is_closed=True),)) for name in "ab")


@pytest.fixture(autouse=True)
def _forget() -> Generator[None]:
    yield
    clear_auto_partitioner()


def ops(module: ModuleOp) -> dict[str, Operation]:
    return {op.name.partition(".")[2]: op for op in module.walk()}


def run(partitioner: AutoPartitioner, name: str = "sdy-auto-partition", options: str = "") -> str:
    module = parse_module(PROGRAM, "program.mlir")
    with auto_partitioner(partitioner):
        run_passes(module, build_step(name, options).calls, verify="never")
    return print_module(module)


def shard_all(module: ModuleOp) -> None:
    found = ops(module)
    write_all([(Holder(Place.ARGUMENT, found["func"], 0), BY_B)])
    write_all([(Holder(Place.FUNCTION_RESULT, found["func"], 0), BY_B)])
    write_all(
        [
            (Holder(Place.RESULT, found["add"]), BY_B),
            (Holder(Place.PROPERTY, found["sharding_constraint"]), BY_B),
        ]
    )


def test_shardings_may_come_and_change() -> None:
    text = run(shard_all)
    assert text.count('<@mesh, [{"b"}]>') == 4
    assert "{mhlo.donated}" in text


def test_the_pipeline_runs_it_after_propagation() -> None:
    seen: list[str] = []

    def look(module: ModuleOp) -> None:
        seen.append(print_module(module))
        shard_all(module)

    text = run(look, "sdy-propagation-pipeline", "enable-auto-partitioning")
    assert re.search(r'stablehlo.abs %1 \{sdy.sharding = .*\[\{"a", \?\}\]', seen[0])
    assert '%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"b"}]>}' in text
    assert "sdy.reshard" in text


def test_the_pipeline_saves_the_module_before(tmp_path: Path) -> None:
    run(shard_all, "sdy-propagation-pipeline", f"enable-auto-partitioning dump-directory={tmp_path}")
    (path,) = tmp_path.glob("*auto*")
    assert path.name == "02.propagation_before_auto_partitioning.mlir"
    assert '[{"b"}]' not in path.read_text()


def add_attribute(module: ModuleOp) -> None:
    ops(module)["abs"].attributes["mine"] = UnitAttr()


def add_argument_attribute(module: ModuleOp) -> None:
    function: Any = ops(module)["func"]
    function.properties["arg_attrs"] = type(function.properties["arg_attrs"])(
        [DictionaryAttr({"mine": UnitAttr()}), *function.properties["arg_attrs"].data[1:]]
    )


def rename(module: ModuleOp) -> None:
    ops(module)["func"].properties["sym_name"] = StringAttr("other")


def erase_op(module: ModuleOp) -> None:
    op = ops(module)["abs"]
    op.results[0].replace_all_uses_with(op.operands[0])
    erase(op)


def add_op(module: ModuleOp) -> None:
    op = ops(module)["abs"]
    assert op.parent is not None
    op.parent.insert_op_after(op.clone(), op)


def rewire(module: ModuleOp) -> None:
    op = ops(module)["abs"]
    op.operands[0] = ops(module)["add"].results[0]


def move(module: ModuleOp) -> None:
    op = ops(module)["mesh"]
    block = op.parent
    assert block is not None
    op.detach()
    block.add_op(op)


def retype(module: ModuleOp) -> None:
    ops(module)["abs"].results[0]._type = TensorType(f32, [4])


def unshard(module: ModuleOp) -> None:
    del ops(module)["sharding_constraint"].properties["sharding"]


def relocate(module: ModuleOp) -> None:
    ops(module)["abs"].location = ops(module)["add"].location


def relocate_argument(module: ModuleOp) -> None:
    function: Any = ops(module)["func"]
    function.body.block.args[1].location = function.location


def erase_function(module: ModuleOp) -> None:
    erase(ops(module)["func"])


def remesh(module: ModuleOp) -> None:
    ops(module)["mesh"].properties["mesh"] = MeshAttr(Mesh((MeshAxis("a", 4), MeshAxis("b", 2))))


def add_mesh(module: ModuleOp) -> None:
    module.body.block.add_op(MeshOp("mine", Mesh((MeshAxis("a", 4),))))


def add_region(module: ModuleOp) -> None:
    ops(module)["abs"].add_region(Region())


def set_rule(module: ModuleOp) -> None:
    ops(module)["abs"].attributes["sdy.sharding_rule"] = OpShardingRuleAttr(ShardingRule.identity((8,)))


def describe_module(module: ModuleOp) -> None:
    module.attributes["mine"] = UnitAttr()


@pytest.mark.parametrize(
    ("partitioner", "message"),
    [
        (add_attribute, "'stablehlo.abs': its attribute 'mine' changed"),
        (add_argument_attribute, "'func.func': its property 'arg_attrs[0]' changed"),
        (rename, "'func.func': its property 'sym_name' changed"),
        (erase_op, "'stablehlo.abs': it was removed or moved"),
        (add_op, "'stablehlo.abs': it was added"),
        (rewire, "'stablehlo.abs': its operands changed"),
        (move, "'sdy.mesh': it was removed or moved"),
        (retype, "'stablehlo.abs': its types changed"),
        (relocate, "'stablehlo.abs': its location changed"),
        (relocate_argument, "'func.func': its location changed"),
        (erase_function, "'func.func': it was removed or moved"),
        (remesh, "'sdy.mesh': its property 'mesh' changed"),
        (add_mesh, "'sdy.mesh': it was added"),
        (add_region, "'stablehlo.abs': its regions changed"),
        (set_rule, "'stablehlo.abs': its attribute 'sdy.sharding_rule' changed"),
        (describe_module, "'builtin.module': its attribute 'mine' changed"),
        (unshard, "'sdy.sharding_constraint': a sharding was removed"),
    ],
)
def test_anything_else_is_an_error(partitioner: Callable[[ModuleOp], None], message: str) -> None:
    with pytest.raises(ShardyError) as caught:
        run(partitioner)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.message == f"an auto-partitioner may add and change shardings only; {message}"


def test_a_failure_of_the_partitioner_is_the_users() -> None:
    def fail(module: ModuleOp) -> None:
        raise KeyError("lost")

    with pytest.raises(ShardyError, match="the auto-partitioner failed: KeyError: 'lost'"):
        run(fail)


def test_the_diagnostic_says_where() -> None:
    with pytest.raises(ShardyError) as caught:
        run(add_attribute)
    position = caught.value.diagnostics[0].where
    assert position is not None
    assert (position.file, position.line) == ("program.mlir", 6)


def test_shardings_are_verified() -> None:
    def shard_by_nothing(module: ModuleOp) -> None:
        wrong = TensorSharding("mesh", (DimensionSharding((AxisRef("z"),)),))
        ops(module)["add"].attributes["sdy.sharding"] = TensorShardingPerValueAttr((wrong,))

    with pytest.raises(ShardyError, match='unknown axis name: "z"'):
        run(shard_by_nothing)


def test_there_is_one_at_most() -> None:
    register_auto_partitioner(shard_all)
    assert registered_auto_partitioner() is shard_all
    with pytest.raises(ShardyError, match="auto-partitioner callback already registered"):
        register_auto_partitioner(unshard)
    clear_auto_partitioner()
    with pytest.raises(ShardyError, match="auto-partitioner callback wasn't registered"):
        registered_auto_partitioner()


def test_a_wrong_kind_of_sharding_is_found() -> None:
    def shard_by_wrong_kind(module: ModuleOp) -> None:
        ops(module)["add"].attributes["sdy.sharding"] = TensorShardingAttr(BY_A)

    with pytest.raises(ShardyError, match="TensorShardingPerValueAttr"):
        run(shard_by_wrong_kind)
