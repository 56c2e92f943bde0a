"""Whether JAX wrote a program: then XLA changes it before it propagates shardings.

Not here: the changes (the passes of this package).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp

from shardy_py.graph.symbols import functions_of

_PARTITIONS = "mhlo.num_partitions"
_JAX_ATTRIBUTE, _JAX_MODULE = "jax.", "jit_"


def is_written_by_jax(module: ModuleOp) -> bool:
    """Returns whether JAX lowered the module.

    JAX's lowering gives a module the number of partitions, and names it after the jitted function, or gives
    arguments and results attributes of its own, such as `jax.result_info`.
    """
    if _PARTITIONS not in module.attributes:
        return False
    name = module.sym_name
    is_named = name is not None and name.data.startswith(_JAX_MODULE)
    return is_named or any(key.startswith(_JAX_ATTRIBUTE) for key in _attribute_names(module))


def _attribute_names(module: ModuleOp) -> Iterator[str]:
    """The names of the attributes of the module, and of all arguments and results of its functions."""
    yield from module.attributes
    for function in functions_of(module):
        for property_name in ("arg_attrs", "res_attrs"):
            entries = cast("ArrayAttr[DictionaryAttr] | None", function.properties.get(property_name))
            for entry in entries or ():
                yield from entry.data
