"""The Python API: programs, shardings, propagation and its results. Every name is also in `shardy_py`.

    from shardy_py import Mesh, P, Program, propagate

    result = propagate(Program.load("model.mlir").annotate({"%arg0": P("data", None)}))
    print(result["result 0"].sharding)

Not here: the stages of propagation (`pipeline.py`). Look next at `program.py` and `result.py`.
"""

from importlib import import_module

TYPE_CHECKING = False  # that of `typing`, which commands need not wait for
if TYPE_CHECKING:
    from shardy_py.api.comparison import Comparison
    from shardy_py.api.partition_spec import UNCONSTRAINED, P, dim
    from shardy_py.api.program import Program
    from shardy_py.api.propagating import Options, propagate
    from shardy_py.api.result import Result
    from shardy_py.api.sharding import Sharding
    from shardy_py.api.values import Value, Values
    from shardy_py.base.errors import ShardyError
    from shardy_py.base.plugins import load_plugins
    from shardy_py.report.difference import Change
    from shardy_py.sharding import Mesh

__all__ = [
    "UNCONSTRAINED",
    "Change",
    "Comparison",
    "Mesh",
    "Options",
    "P",
    "Program",
    "Result",
    "Sharding",
    "ShardyError",
    "Value",
    "Values",
    "dim",
    "load_plugins",
    "propagate",
]
_ROOMS = {
    "UNCONSTRAINED": "api.partition_spec",
    "Change": "report.difference",
    "Comparison": "api.comparison",
    "Mesh": "sharding",
    "Options": "api.propagating",
    "P": "api.partition_spec",
    "Program": "api.program",
    "Result": "api.result",
    "Sharding": "api.sharding",
    "ShardyError": "base.errors",
    "Value": "api.values",
    "Values": "api.values",
    "dim": "api.partition_spec",
    "load_plugins": "base.plugins",
    "propagate": "api.propagating",
}
"""The module of each name. None is called as a name is: the import of a module binds its name here."""


def __getattr__(name: str) -> "object":
    """A name, loaded when first asked for: to run a program, no report need be imported."""
    if name not in _ROOMS:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    found = getattr(import_module(f"shardy_py.{_ROOMS[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> "list[str]":
    """The names, loaded or not: as `help()` and the site's reference list them."""
    return sorted({*globals(), *__all__})
