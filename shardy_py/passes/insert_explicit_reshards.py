"""`sdy-insert-explicit-reshards`: inserts reshards where the shardings of an op's tensors are incompatible.

    %lhs: [{"x"}, {"y"}], %rhs: [{"y"}, {"x"}]
    before  %0 = stablehlo.dot %lhs, %rhs {... [<@mesh, [{"x"}, {}]>]}
    after   %0 = sdy.reshard %rhs <@mesh, [{"y"}, {}]>
            %1 = stablehlo.dot %lhs, %0 {... [<@mesh, [{"x"}, {}]>]}

Without `enable-full-version` only for calls, concatenations of tensors with different shardings, dot products
that benefit, and unreduced axes; a later partitioner handles all others.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from shardy_py.graph.symbols import Symbols, functions_of, meshes_of
from shardy_py.passes.options import InsertExplicitReshardsOptions
from shardy_py.passes.reshard_insertion import ReshardInsertion


def insert_explicit_reshards(module: ModuleOp, options: InsertExplicitReshardsOptions) -> None:
    """Inserts reshards where the operands and results of an op are incompatible."""
    insertion = ReshardInsertion(Symbols(module), meshes_of(module), is_full=options.enable_full_version)
    insertion.run(function for function in functions_of(module) if function.body.blocks)
