"""Which axes are manual where: in manual computations, in those within, and in functions called there.

    func @main { sdy.manual_computation manual_axes={"x"} { call @f } }      "x" is manual in @f

Not here: what the axes do to shardings (`sharding/manual_axes.py`).
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from shardy_py.dialects.sdy import ManualComputationOp
from shardy_py.graph.calls import calls_in, functions_top_down
from shardy_py.graph.cloning import clone
from shardy_py.graph.symbols import Symbols, callee_name, function_name, set_callee
from shardy_py.sharding import Mesh


@dataclass(frozen=True, slots=True)
class ManualRegion:
    """What is manual at a place.

    axes: the axes of all manual computations around it, the outermost first.
    mesh: that of the innermost; None outside of all.
    """

    axes: tuple[str, ...] = ()
    mesh: str | Mesh | None = None

    def within(self, computation: ManualComputationOp) -> ManualRegion:
        """What is manual in a manual computation that stands here."""
        shardings = (*computation.in_shardings.data, *computation.out_shardings.data)
        mesh = shardings[0].mesh if shardings else self.mesh
        return ManualRegion(self.axes + computation.manual_axes.data, mesh)


OUTSIDE = ManualRegion()


def regions_of_functions(module: ModuleOp, symbols: Symbols) -> dict[Operation, ManualRegion]:
    """What is manual in each function; one that is called at unlike places is copied, once for each kind."""
    called: dict[str, dict[ManualRegion, list[Operation]]] = {}
    found: dict[Operation, ManualRegion] = {}
    for function in functions_top_down(module):
        kinds = called.get(function_name(function), {})
        if not kinds or function.properties.get("sym_visibility") != StringAttr("private"):
            kinds = {OUTSIDE: [], **kinds}
        copies = [function, *(clone(function, {}) for _ in range(1, len(kinds)))]
        for copy, (region, calls) in zip(copies, kinds.items(), strict=True):
            name = symbols.insert(copy)
            for call in calls:
                set_callee(call, name)
            found[copy] = region
            for call in calls_in(copy):
                kind = called.setdefault(callee_name(call), {})
                kind.setdefault(region_at(call, region), []).append(call)
    return found


def region_at(op: Operation, of_function: ManualRegion) -> ManualRegion:
    """What is manual at `op`, in a function in which `of_function` is."""
    around: list[ManualComputationOp] = []
    parent = op.parent_op()
    while parent is not None and parent.name != FuncOp.name:
        if isinstance(parent, ManualComputationOp):
            around.append(parent)
        parent = parent.parent_op()
    region = of_function
    for computation in reversed(around):
        region = region.within(computation)
    return region
