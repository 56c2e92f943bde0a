"""The constructors of sdy's ops: each makes what its text reads as, with types inferred."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FunctionType, ModuleOp, TensorType, f32
from xdsl.dialects.func import FuncOp
from xdsl.dialects.func import ReturnOp as FuncReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue

from shardy_py.mlir.dialects import parse_module, print_module, sdy
from shardy_py.mlir.dialects.sdy.verify_sharding import sharding_of
from shardy_py.mlir.dialects.verification import verify_module
from shardy_py.sharding import AxisRef, DimensionSharding, Mesh, MeshAxis, SubAxis, TensorSharding

TENSOR = TensorType(f32, [8, 8])
X, Y = AxisRef("x"), AxisRef("y")
MESH = Mesh((MeshAxis("x", 2), MeshAxis("y", 4)))


def sharding(
    first: tuple[AxisRef, ...], second: tuple[AxisRef, ...] = (), unreduced: tuple[AxisRef, ...] = ()
) -> TensorSharding:
    dimensions = (DimensionSharding(first, True), DimensionSharding(second, True))
    return TensorSharding("mesh", dimensions, unreduced_axes=unreduced)


def region(shape: list[int], terminator: type[Operation] = sdy.ReturnOp) -> Region:
    block = Block(arg_types=[TensorType(f32, shape)])
    block.add_op(terminator(*block.args))
    return Region(block)


def at(value: SSAValue, held: TensorSharding) -> sdy.ReshardOp:
    return sdy.ReshardOp(value, held)


Built = Callable[[SSAValue], list[Operation]]
ON_X, ON_Y, ON_BOTH = sharding((X,)), sharding((Y,)), sharding((X,), (Y,))
NONE = sharding(())


def over(held: TensorSharding, make: Callable[[SSAValue], Operation]) -> Built:
    """A value of that sharding, and an op of it."""

    def build(value: SSAValue) -> list[Operation]:
        first = at(value, held)
        return [first, make(first.result)]

    return build


CASES: list[tuple[Built, str]] = [
    (lambda v: [sdy.ShardingConstraintOp(v, ON_X)], 'sdy.sharding_constraint %arg0 <@mesh, [{"x"}, {}]>'),
    (lambda v: [sdy.ReshardOp(v, ON_X)], 'sdy.reshard %arg0 <@mesh, [{"x"}, {}]>'),
    (
        lambda v: [sdy.ManualComputationOp([v], [ON_X], [ON_X], ["x"], region([4, 8]), [TENSOR])],
        'sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"x"}, {}]>] '
        'out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%arg1: tensor<4x8xf32>) {',
    ),
    (lambda v: [sdy.ShardingGroupOp(v, 3)], "sdy.sharding_group %arg0 group_id=3 : tensor<8x8xf32>"),
    (
        lambda v: [sdy.ConstantOp(DenseIntOrFPElementsAttr.from_list(TENSOR, [0.0]))],
        "sdy.constant dense<0.000000e+00> : tensor<8x8xf32>",
    ),
    (lambda v: [sdy.DataFlowEdgeOp(v)], "sdy.data_flow_edge %arg0 : tensor<8x8xf32>"),
    (
        lambda v: [sdy.DataFlowEdgeOp(v, ON_X)],
        'sdy.data_flow_edge %arg0 sharding=<@mesh, [{"x"}, {}]> : tensor<8x8xf32>',
    ),
    (lambda v: [sdy.FuncDataFlowEdgeOp(v)], "sdy.func_data_flow_edge %arg0 : tensor<8x8xf32>"),
    (
        lambda v: [sdy.PropagationBarrierOp(v, "FORWARD")],
        "sdy.propagation_barrier %arg0 allowed_direction=FORWARD : tensor<8x8xf32>",
    ),
    (
        lambda v: [sdy.NamedComputationOp("f", [v], region([8, 8]))],
        'sdy.named_computation<"f">(%arg0) (%arg1: tensor<8x8xf32>) {',
    ),
    (
        lambda v: [sdy.NamedComputationOp("f", [v], region([8, 8]), [ON_X], [ON_X])],
        'in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>]',
    ),
    (
        over(ON_X, lambda v: sdy.AllGatherOp(v, [[X], []], NONE)),
        'sdy.all_gather [{"x"}, {}] %0 out_sharding=<@mesh, [{}, {}]> : tensor<8x8xf32>',
    ),
    (
        lambda v: [
            sdy.AllSliceOp(
                v, [[AxisRef("y", SubAxis(1, 2))], [X]], sharding((AxisRef("y", SubAxis(1, 2)),), (X,))
            )
        ],
        'sdy.all_slice [{"y":(1)2}, {"x"}] %arg0 out_sharding=<@mesh, [{"y":(1)2}, {"x"}]>',
    ),
    (
        over(ON_X, lambda v: sdy.AllToAllOp(v, [((X,), 0, 1)], sharding((), (X,)))),
        'sdy.all_to_all [{"x"}: 0->1] %0 out_sharding=<@mesh, [{}, {"x"}]>',
    ),
    (
        over(ON_BOTH, lambda v: sdy.CollectivePermuteOp(v, sharding((X,), (Y,)))),
        'sdy.collective_permute %0 out_sharding=<@mesh, [{"x"}, {"y"}]>',
    ),
    (
        lambda v: [sdy.AllReduceOp(v, [X, Y], NONE)],
        'sdy.all_reduce {"x", "y"} %arg0 out_sharding=<@mesh, [{}, {}]>',
    ),
    (
        lambda v: [sdy.AllReduceOp(v, [X], NONE, "max")],
        'sdy.all_reduce max {"x"} %arg0 out_sharding=<@mesh, [{}, {}]>',
    ),
    (
        lambda v: [sdy.ReduceScatterOp(v, [[X], []], ON_X, "min")],
        'sdy.reduce_scatter min [{"x"}, {}] %arg0 out_sharding=<@mesh, [{"x"}, {}]>',
    ),
    (
        over(ON_X, lambda v: sdy.ShardedToUnreducedOp(v, [[X], []], sharding((), unreduced=(X,)))),
        'sdy.sharded_to_unreduced [{"x"}, {}] %0 out_sharding=<@mesh, [{}, {}], unreduced={"x"}>',
    ),
    (
        over(NONE, lambda v: sdy.ReplicatedToUnreducedOp(v, [X], sharding((), unreduced=(X,)))),
        'sdy.replicated_to_unreduced {"x"} %0 out_sharding=<@mesh, [{}, {}], unreduced={"x"}>',
    ),
]


def program(build: Built) -> ModuleOp:
    block = Block(arg_types=[TENSOR])
    ops = build(block.args[0])
    block.add_ops(ops)
    results = ops[-1].results
    for result in results:
        assert result.type == TENSOR
    block.add_op(FuncReturnOp(*results))
    types = [result.type for result in results]
    function = FuncOp("main", FunctionType.from_lists([TENSOR], types), Region(block))
    return ModuleOp([sdy.MeshOp("mesh", MESH), function])


@pytest.mark.parametrize(("build", "text"), CASES, ids=[text.split("%")[0] for _, text in CASES])
def test_what_is_built_prints_and_verifies(build: Built, text: str) -> None:
    module = program(build)
    printed = print_module(module)
    assert text in printed
    verify_module(module)
    assert print_module(parse_module(printed)) == printed


def test_every_op_has_a_case() -> None:
    built = {op.name for build, _ in CASES for op in program(build).walk()}
    assert {op.name for op in sdy.Sdy.operations} <= built


def test_collectives_have_their_sharding_in_one_place() -> None:
    ops = {op.name.partition(".")[2]: op for build, _ in CASES for op in program(build).walk()}
    collectives = {name: op for name, op in ops.items() if isinstance(op, sdy.CollectiveOp)}
    names = "all_gather all_reduce all_slice all_to_all collective_permute reduce_scatter"
    assert sorted(collectives) == f"{names} replicated_to_unreduced sharded_to_unreduced".split()
    assert all(sharding_of(op.results[0]) == op.out_sharding.data for op in collectives.values())
