"""Shardy-style tensor sharding: read StableHLO with the sdy dialect, verify it, propagate, explain.

`shardy_py.api.pipeline` tells the story; `sdy-opt` runs the passes from a shell; `shardy_py.api` is for
Python:

>>> import shardy_py
>>> mesh = shardy_py.Mesh.of(data=4, model=2)
>>> shardy_py.Sharding(mesh, shardy_py.P("data", None)).local_shape((32, 128))
(8, 128)
"""

from shardy_py.base.extensions import register

TYPE_CHECKING = False  # that of `typing`, which commands need not wait for
if TYPE_CHECKING:
    from shardy_py.api import (
        UNCONSTRAINED,
        Change,
        Comparison,
        Mesh,
        Options,
        P,
        Program,
        Result,
        Sharding,
        ShardyError,
        Value,
        Values,
        dim,
        load_plugins,
        propagate,
    )
    from shardy_py.search.studies import Study

__version__ = "0.2.0"
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
    "Study",
    "Value",
    "Values",
    "dim",
    "load_plugins",
    "propagate",
]
register(
    {
        "advice": "shardy_py.search.advising",
        "check": "shardy_py.check",
        "explorer": "shardy_py.viewer.explorer_file",
        "hlo": "shardy_py.xla.hlo_programs",
        "jax": "shardy_py.frontends.jax",
        "jax_devices": "shardy_py.frontends.jax_devices",
        "model_explorer": "shardy_py.viewer.model_explorer_graphs",
        "study": "shardy_py.search.studies",
        "suggest": "shardy_py.search.suggesting",
        "torch": "shardy_py.frontends.torch",
        "torch.archives": "shardy_py.frontends.torch.archives",
        "torch.placements": "shardy_py.frontends.torch.placements",
        "verdict": "shardy_py.search.verdicts",
        "what_if": "shardy_py.search.what_if",
    }
)
_OF_JAX = {"NamedSharding": "Sharding", "PartitionSpec": "P", "PartitionSpecs": "P"}
"""The names of the API by JAX's."""


def __getattr__(name: str) -> "object":
    """The names of the API, loaded when first asked for: `sdy-opt --help` need not wait for xDSL."""
    if name not in __all__:
        fact = f"module 'shardy_py' has no attribute '{name}'"
        if not name.startswith("_"):
            from shardy_py.base.errors import suggestion

            renamed = _OF_JAX.get(name)
            hint = f"use shardy_py.{renamed}" if renamed else suggestion(name, __all__)
            fact += f"; {hint}" if hint else ""
        raise AttributeError(fact)
    from shardy_py import api
    from shardy_py.base.extensions import extension

    return getattr(extension("study") if name == "Study" else api, name)


def __dir__() -> list[str]:
    """Returns the names for completion, including the names of the API that are not loaded yet."""
    return [*globals(), *__all__]
