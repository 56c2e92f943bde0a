"""The axes that are manual at each op: in manual computations, nested ones, and functions called there.

    func @main { sdy.manual_computation manual_axes={"x"} { call @f } }      "x" is manual in @f

Not here: shardings without manual axes (`sharding/tensor_sharding.py`).
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
    """The manual axes of a region.

    axes: those of all manual computations around it, the outermost first.
    mesh: that of the innermost; None outside of all.
    """

    axes: tuple[str, ...] = ()
    mesh: str | Mesh | None = None


OUTSIDE = ManualRegion()


def regions_of_functions(module: ModuleOp, symbols: Symbols) -> dict[Operation, ManualRegion]:
    """The manual axes of each function; one called in regions with different axes is copied for each."""
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
    """The manual axes at `op`, in a function with those of `of_function`."""
    parent = op.parent_op()
    if parent is None or isinstance(parent, FuncOp):
        return of_function
    region = region_at(parent, of_function)
    if not isinstance(parent, ManualComputationOp):
        return region
    shardings = (*parent.in_shardings.data, *parent.out_shardings.data)
    mesh = shardings[0].mesh if shardings else region.mesh
    return ManualRegion(region.axes + parent.manual_axes.data, mesh)
