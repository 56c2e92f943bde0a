"""Traits of op classes answer what engines ask; the expected values are from the dialects' ODS."""

from __future__ import annotations

import pytest
from xdsl.dialects.arith import AddiOp
from xdsl.dialects.arith import ConstantOp as ArithConstantOp
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i1, i32
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.dialects.func import ReturnOp as FuncReturnOp
from xdsl.ir import Block, Operation, Region
from xdsl.transforms.dead_code_elimination import dce

from shardy_py.mlir.dialects import chlo, parse_module, sdy, stablehlo
from shardy_py.mlir.dialects.traits import (
    constant_of,
    is_commutative,
    is_constant,
    is_dead_when_unused,
    is_foldable_constant,
    is_isolated,
    is_terminator,
    sharding_property,
)
from shardy_py.mlir.text.recipes import unregistered_class

UNREGISTERED = unregistered_class("other.op").create()

# StableHLO's ops that declare a memory effect, or declare nothing: StablehloOps.td.
NOT_DEAD = """
    all_gather all_reduce all_to_all async_done async_start collective_broadcast collective_permute
    collective_reduce composite infeed outfeed recv reduce_scatter return rng send
"""


def _of(dialect: str, name: str) -> Operation:
    return (stablehlo if dialect == "stablehlo" else chlo).op_class(name).create()


def test_unused_ops_of_stablehlo_are_dead_unless_they_have_or_may_have_effects() -> None:
    kept = [name for name in stablehlo.OPS.rows if not is_dead_when_unused(_of("stablehlo", name))]
    assert sorted(kept) == NOT_DEAD.split()
    assert all(is_dead_when_unused(_of("chlo", name)) for name in chlo.OPS.rows)


def test_unused_ops_of_sdy_are_dead_if_they_are_pure() -> None:
    dead = [c.name for c in sdy.Sdy.operations if is_dead_when_unused(c.create())]
    names = ("reshard", "manual_computation", "constant", "propagation_barrier", "named_computation")
    assert sorted(dead) == sorted(f"sdy.{name}" for name in names)


def test_ops_of_other_dialects_are_judged_by_their_traits() -> None:
    assert is_dead_when_unused(AddiOp.create())
    for kept in (CallOp.create(), FuncReturnOp.create(), FuncOp.create(), ModuleOp([]), UNREGISTERED):
        assert not is_dead_when_unused(kept)


@pytest.mark.parametrize(("flag", "is_dead"), [(None, True), (0, True), (1, False)])
def test_custom_calls_have_the_effects_that_they_declare(flag: int | None, *, is_dead: bool) -> None:
    properties = {} if flag is None else {"has_side_effect": IntegerAttr(flag, i1)}
    call = stablehlo.op_class("custom_call").create(properties=properties)
    assert is_dead_when_unused(call) is is_dead
    loop = stablehlo.op_class("case").create(regions=[Region(Block([call, _of("stablehlo", "return")]))])
    assert is_dead_when_unused(loop) is is_dead


def test_constants() -> None:
    foldable = [_of("stablehlo", "constant"), _of("chlo", "constant"), ArithConstantOp(IntegerAttr(1, i32))]
    kept = sdy.ConstantOp.create()
    assert all(map(is_constant, [*foldable, kept]))
    assert all(map(is_foldable_constant, foldable))
    assert not is_foldable_constant(kept)
    assert not any(map(is_constant, [_of("stablehlo", "iota"), _of("chlo", "constant_like"), UNREGISTERED]))
    (result,) = foldable[2].results
    assert constant_of(result) is foldable[2]
    assert constant_of(AddiOp(result, result).result) is None
    assert constant_of(Block(arg_types=[i32]).args[0]) is None


def test_structure() -> None:
    assert all(map(is_terminator, [_of("stablehlo", "return"), sdy.ReturnOp.create(), FuncReturnOp.create()]))
    assert not is_terminator(UNREGISTERED)
    assert all(map(is_isolated, [FuncOp.create(), sdy.ManualComputationOp.create(), _of("chlo", "scan")]))
    assert not is_isolated(_of("stablehlo", "while"))


def test_only_ops_that_mlirs_folder_reorders_are_commutative() -> None:
    assert is_commutative(_of("chlo", "mulhi"))
    assert is_commutative(_of("chlo", "broadcast_add"))
    assert not is_commutative(_of("stablehlo", "add"))


def test_sharding_properties() -> None:
    assert sharding_property(sdy.AllSliceOp.create()) == "out_sharding"
    assert sharding_property(sdy.ReshardOp.create()) == "sharding"
    assert sharding_property(sdy.PropagationBarrierOp.create()) is None


def test_dead_code_elimination_of_xdsl_keeps_collectives() -> None:
    module = parse_module(
        """
        sdy.mesh @mesh = <["x"=2]>
        func.func @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {
          %0 = sdy.all_gather [{"x"}] %arg0 out_sharding=<@mesh, [{}]> : tensor<8xf32>
          %1 = sdy.reshard %arg0 <@mesh, [{}]> : tensor<8xf32>
          return %arg0 : tensor<8xf32>
        }
        """
    )
    dce(module)
    assert "sdy.all_gather" in str(module)
    assert "sdy.reshard" not in str(module)
