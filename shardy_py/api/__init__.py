"""The Python API: programs, shardings, propagation and its results. Every name is also in `shardy_py`.

    from shardy_py import Mesh, P, Program, propagate

    result = propagate(Program.load("model.mlir").annotate({"%arg0": P("data", None)}))
    print(result["result 0"].sharding)

Not here: the stages of propagation (`pipeline.py`). Look next at `program.py` and `result.py`.
"""

from shardy_py.api.comparison import Comparison
from shardy_py.api.partition_spec import UNCONSTRAINED, P, dim
from shardy_py.api.program import Program
from shardy_py.api.propagate import Options, propagate
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
