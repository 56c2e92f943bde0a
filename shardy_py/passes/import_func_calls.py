"""`sdy-import-func-calls`: turns calls into named computations that hold the body of the callee.

So propagation flows through calls as if they were inlined. The callees go; what is called more than once is
copied for each further call.

    before  %0 = call @f(%a)                               func.func private @f(%b) { ... return %c }
    after   %0 = sdy.named_computation<"f">(%a) (%b) { ... sdy.return %c }
"""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from shardy_py.graph.computation_names import NAMED
from shardy_py.graph.data_flow import argument_owners
from shardy_py.graph.edge_ops import insert_edges
from shardy_py.graph.inlining import import_calls
from shardy_py.ir import find_ops


@dataclass(frozen=True)
class ImportFuncCallsPass(ModulePass):
    """Turns calls into named computations.

    add_data_flow_edges_on_named_computations: also insert the data-flow edges of what is inlined.
    """

    name = "sdy-import-func-calls"
    add_data_flow_edges_on_named_computations: bool = True

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        import_calls(op)
        if self.add_data_flow_edges_on_named_computations:
            for computation in find_ops(op, NAMED):
                insert_edges(argument_owners(computation))
                insert_edges(computation.results)
