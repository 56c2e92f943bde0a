"""Functions that flax and equinox wrap, brought to what JAX traces; neither package is imported here.

`nnx.jit(f)` traces and lowers as `jax.jit(f)` does, and wraps the result. `eqx.filter_jit(f)`, methods of
`eqx.Module`s and modules take arguments that JAX does not, such as functions inside a module: arrays among
the leaves become arguments of the program, everything else is part of it. Not here: tracing (`jax.py`).
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import Any

_SELF = "self"
"""The name of a module that is called, and of what a wrapped function has closed over."""


def unwrapped(stage: Any, kinds: Any) -> object:
    """Returns the stage of JAX inside one that flax or equinox return; the argument itself if there is none.

    kinds: the classes of JAX's stages.
    """
    for name in ("lowered", "traced"):
        inner = getattr(stage, name, None)
        if not isinstance(stage, kinds) and isinstance(inner, kinds):
            return inner
    return stage


def is_module(function: object) -> bool:
    """Returns whether a function is an `eqx.Module`, as what `eqx.filter_jit` returns is."""
    equinox = sys.modules.get("equinox")
    return equinox is not None and isinstance(function, equinox.Module)


def filtered(jax: Any, module: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Returns the trace of an `eqx.Module` that is called with these arguments.

    jax: the package. Arrays of the module come first among the arguments of the program.
    """
    static: list[Any] = []

    def dynamic(tree: Any) -> object:
        """The tree with arrays only; the other leaves are kept aside, in order."""
        leaves, structure = jax.tree.flatten(tree)
        arrays = [leaf if _is_array(jax, leaf) else None for leaf in leaves]
        static.append((structure, [None if _is_array(jax, leaf) else leaf for leaf in leaves]))
        return jax.tree.unflatten(structure, arrays)

    inputs = [dynamic(each) for each in (module, *arguments)]
    named = {name: dynamic(value) for name, value in keywords.items()}

    def call(*given: Any, **by_name: Any) -> Any:
        whole = [
            jax.tree.unflatten(structure, [k if a is None else a for a, k in zip(arrays, kept, strict=True)])
            for (structure, kept), tree in zip(static, (*given, *by_name.values()), strict=True)
            for arrays in (structure.flatten_up_to(tree),)
        ]
        called, *others = whole
        values = others[: len(given) - 1]
        results = called(*values, **dict(zip(by_name, others[len(values) :], strict=True)))
        leaves, structure = jax.tree.flatten(results)
        return jax.tree.unflatten(structure, [leaf if _is_array(jax, leaf) else None for leaf in leaves])

    call.__signature__ = _signature(module)  # pyright: ignore[reportFunctionMemberAccess]
    call.__name__ = getattr(module, "__name__", "call")
    donated = (
        *((1,) if getattr(module, "donate_first", False) else ()),
        *(range(2, len(inputs)) if getattr(module, "donate_rest", False) else ()),
    )
    return jax.jit(call, donate_argnums=donated).trace(*inputs, **named)


def _is_array(jax: Any, leaf: Any) -> bool:
    return isinstance(leaf, jax.Array | jax.ShapeDtypeStruct) or type(leaf).__module__ == "numpy"


def _signature(module: Callable[..., object]) -> inspect.Signature:
    """The parameters of a module's call, by which JAX names arguments, after the module itself."""
    try:
        parameters = [*inspect.signature(module).parameters.values()]
    except (TypeError, ValueError):
        parameters = [inspect.Parameter("arguments", inspect.Parameter.VAR_POSITIONAL)]
    name = _SELF if all(each.name != _SELF for each in parameters) else "module"
    first = inspect.Parameter(name, inspect.Parameter.POSITIONAL_ONLY)
    return inspect.Signature([first, *parameters])
