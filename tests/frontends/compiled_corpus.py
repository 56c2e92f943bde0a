"""Compares, program by program, the JAX adaptor with what JAX's compiler decides for the corpus's generator.

    python -m tests.frontends.compiled_corpus FOLDER DEVICES [NAME ...]

FOLDER holds the generator; meshes shrink to DEVICES forced host devices. A line of JSON a program is printed.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import partial
from math import prod
from typing import Any

from tests.frontends.compiled import OtherApiError, print_compared, quick_flags


def scaled(sizes: dict[str, int], limit: int) -> dict[str, int]:
    """Mesh axes, the largest (of equals the first) halved until there are at most `limit` devices."""
    sizes = dict(sizes)
    while prod(sizes.values()) > limit:
        largest = max(sizes, key=lambda name: sizes[name])
        sizes[largest] //= 2
    return sizes


def programs(folder: str, devices: int) -> dict[str, Callable[[], Any]]:
    """The generator's programs; importing it starts JAX with `devices` devices on the host."""
    sys.path.insert(0, folder)
    import corpus_tools  # pyright: ignore[reportMissingImports]
    import jax

    # The import above has set a number of its own; the backend, which reads it, is not running yet.
    os.environ["XLA_FLAGS"] = quick_flags(devices)
    original = corpus_tools.make_mesh

    def make_mesh(*types: Any, **sizes: int) -> Any:
        return original(*types, **scaled(sizes, devices))

    corpus_tools.make_mesh = make_mesh
    corpus_tools.with_argument_shardings = partial(with_argument_shardings, devices=devices)
    corpus_tools.lower_for = lambda platform, function, *arguments: jax.jit(function).lower(*arguments)
    remember_lowered()
    partition_in_place()
    from make_corpus import PROGRAMS  # pyright: ignore[reportMissingImports]

    return {name: partial(built, build) for name, build in PROGRAMS.items()}


def built(build: Callable[[], Any]) -> Any:
    """What the generator, which is written for one release of JAX, lowers.

    Raises:
        OtherApiError: the installed JAX has moved a function, or changed its parameters.
    """
    try:
        return build()
    except (ImportError, AttributeError, TypeError) as error:
        raise OtherApiError(f"{type(error).__name__}: {error}") from error


def partition_in_place() -> None:
    """Let custom partitionings, which the generator leaves without a way, run on the parts as they come."""
    import jax
    from jax.experimental.custom_partitioning import custom_partitioning

    def_partition = custom_partitioning.def_partition

    def of(tree: Any) -> Any:
        return jax.tree.map(lambda shape: shape.sharding, tree)

    def with_way(self: Any, partition: Any, **keywords: Any) -> None:
        def parts(mesh: Any, arguments: Any, result: Any) -> Any:
            return mesh, self.fun, of(result), of(arguments)

        def_partition(self, partition=parts, **keywords)

    custom_partitioning.def_partition = with_way


_LAST: list[Any] = []


def remember_lowered() -> None:
    """Keep what was lowered when its text is asked for: one program of the generator is edited as text."""
    import jax

    as_text = jax.stages.Lowered.as_text

    def remembering(self: Any, *arguments: Any, **keywords: Any) -> str:
        _LAST[:] = [self]
        return as_text(self, *arguments, **keywords)

    jax.stages.Lowered.as_text = remembering


def with_argument_shardings(text: str, shardings: dict[int, str], devices: int) -> Any:
    """In place of the generator's: edits what was lowered instead of its text.

    Parts of axes shrink with the meshes.
    """
    from jax._src.sharding_impls import UNSPECIFIED
    from jaxlib.mlir import ir

    (lowered,) = _LAST
    module = lowered._lowering._hlo
    with module.context:
        main = next(op for op in module.body.operations if str(getattr(op, "name", "")) == '"main"')
        attributes = list(main.arg_attrs)
        for index, sharding in shardings.items():
            if devices < 32:
                sharding = sharding.replace(":(1)4", ":(1)2").replace(":(2)4", ":(2)2")
            kept = {named.name: named.attr for named in ir.DictAttr(attributes[index])}
            kept["sdy.sharding"] = ir.Attribute.parse("#sdy.sharding" + sharding)
            attributes[index] = ir.DictAttr.get(kept)
        main.arg_attrs = ir.ArrayAttr.get(attributes)
    # What JAX does not know it takes from the compiler, instead of insisting on its own.
    given = list(lowered._lowering.compile_args["in_shardings"])
    for index in shardings:
        given[index] = UNSPECIFIED
    lowered._lowering.compile_args["in_shardings"] = tuple(given)
    return lowered


if __name__ == "__main__":
    folder, devices, *names = sys.argv[1:]
    print_compared(programs(folder, int(devices)), names)
