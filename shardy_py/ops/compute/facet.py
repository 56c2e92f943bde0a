"""The function that computes each op, from the tables of the modules of families.

    COMPUTED.of("stablehlo.add").function(record, lhs, rhs)

By default an op has none: it cannot be run, unless `run/interpret/` does by its columns (control flow, and
ops that only forward values). Not here: the functions.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from shardy_py.base.records import dataclass
from shardy_py.ops import Facet
from shardy_py.ops.compute.custom_calls import Function, function_of_user
from shardy_py.ops.compute.indexed import write_slice
from shardy_py.ops.compute.lanes import Compute
from shardy_py.ops.custom_calls import CALL
from shardy_py.ops.reads import names

FAMILIES = names("""chlo contraction conversion convolution custom_calls elementwise indexed linear_algebra
    movement normalization order quantization random reduction scan scatter windowed""")


@dataclass(frozen=True, slots=True)
class ComputedRow:
    """The function that computes an op.

    function: results from the record, regions and operands; None: nothing does.
    write: the same, into the first operand, contiguous, with all lanes, and used nowhere else; None: only
        into a new array.
    """

    function: Compute | None = None
    write: Compute | None = None


def family(name: str) -> ModuleType:
    """Returns the module of a family."""
    return import_module(f"{__package__}.{name}")


_TABLES = (family(name).COMPUTE for name in FAMILIES)
_WRITTEN: dict[str, Compute] = {"stablehlo.dynamic_update_slice": write_slice}

COMPUTED = Facet(
    "function of",
    ComputedRow(),
    rows={
        name: ComputedRow(function, _WRITTEN.get(name))
        for table in _TABLES
        for name, function in table.items()
    },
)
BUILT_IN = frozenset(COMPUTED.rows)
"""The ops that have a function without `register_custom_call`."""


def register_custom_call(target: str, function: Function, *, lanes: bool = False) -> None:
    """Registers what the custom calls of a target compute, in place of an earlier function.

    function: `function(call, *arrays)` returns an array, or a sequence of as many as the call has results of
        tensor types. It must not write to its arguments. Tokens are passed on without it.
    lanes: whether the function takes and returns arrays of all devices, (devices, *shape), with 1 instead of
        the number of devices if they hold the same value. Otherwise it is called once for each device.
    """
    row = ComputedRow(function_of_user(function, has_lanes=lanes))
    COMPUTED.register(f"{CALL}@{target}", row, replaces=True)
