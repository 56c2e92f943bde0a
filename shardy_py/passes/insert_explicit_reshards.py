"""`sdy-insert-explicit-reshards`: makes the tensors of every op agree, by reshards around it.

    %lhs: [{"x"}, {"y"}], %rhs: [{"y"}, {"x"}]
    before  %0 = stablehlo.dot %lhs, %rhs {... [<@mesh, [{"x"}, {}]>]}
    after   %0 = sdy.reshard %rhs <@mesh, [{"y"}, {}]>
            %1 = stablehlo.dot %lhs, %0 {... [<@mesh, [{"x"}, {}]>]}

Without `enable-full-version` only for calls, concatenations of tensors with different shardings, matrix
products that gain by it, and wherever axes are unreduced; the partitioner that follows handles the rest.
"""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from shardy_py.graph.symbols import Symbols, functions_of, meshes_of
from shardy_py.passes.reshard_insertion import ReshardInsertion


@dataclass(frozen=True)
class InsertExplicitReshardsPass(ModulePass):
    """Inserts reshards where operands and results of an op disagree."""

    name = "sdy-insert-explicit-reshards"

    enable_full_version: bool = False

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        insertion = ReshardInsertion(Symbols(op), meshes_of(op), is_full=self.enable_full_version)
        insertion.run(function for function in functions_of(op) if function.body.blocks)
