"""Compares, program by program, the JAX adaptor with what JAX's compiler decides for the corpus's generator.

    python -m tests.frontends.compiled_corpus FOLDER DEVICES [NAME ...]

FOLDER holds the generator; meshes shrink to DEVICES forced host devices. A line of JSON a program is printed.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from functools import partial
from math import prod
from typing import Any

FLAG = "--xla_force_host_platform_device_count={}"


@dataclass
class Compared:
    """One program: how many shardings and shard shapes were compared, and what differs.

    seconds: of JAX's lowering, of the adaptor (text to shardings), of JAX's compilation.
    """

    name: str
    arguments: int = 0
    results: int = 0
    differing: list[str] = field(default_factory=list[str])
    seconds: dict[str, float] = field(default_factory=dict[str, float])


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
    os.environ["XLA_FLAGS"] = FLAG.format(devices)
    original = corpus_tools.make_mesh

    def make_mesh(*types: Any, **sizes: int) -> Any:
        return original(*types, **scaled(sizes, devices))

    corpus_tools.make_mesh = make_mesh
    corpus_tools.with_argument_shardings = partial(with_argument_shardings, devices=devices)
    corpus_tools.lower_for = lambda platform, function, *arguments: jax.jit(function).lower(*arguments)
    remember_lowered()
    partition_in_place()
    from make_corpus import PROGRAMS  # pyright: ignore[reportMissingImports]

    return PROGRAMS


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


def compare(name: str, build: Callable[[], Any]) -> Compared:
    """Lower, propagate here, compile there."""
    from shardy_py.frontends import jax as adaptor

    found = Compared(name)
    with timed(found, "lower"):
        lowered = build()
    with timed(found, "adaptor"):
        ours = adaptor.propagate_lowered(lowered)
    with timed(found, "compile"):
        compiled = lowered.compile()
    found.differing += differences(ours, compiled, lowered, found)
    return found


def differences(ours: Any, compiled: Any, lowered: Any, found: Compared) -> Iterator[str]:
    import jax

    kept = [leaf for leaf in jax.tree.leaves(ours.in_shardings, is_leaf=lambda x: x is None)]
    ins = jax.tree.leaves(compiled.input_shardings, is_leaf=lambda x: x is None)
    infos = jax.tree.leaves(lowered.args_info, is_leaf=lambda x: hasattr(x, "donated"))
    outs = jax.tree.leaves(ours.out_shardings), jax.tree.leaves(compiled.output_shardings)
    for kind, mine, theirs, infos in (
        ("argument", kept, ins, infos),
        ("result", *outs, jax.tree.leaves(lowered.out_info)),
    ):
        if not len(mine) == len(theirs) == len(infos):
            yield f"{len(mine)} {kind}s, JAX has {len(theirs)} of {len(infos)}"
            continue
        for index, (a, b, info) in enumerate(zip(mine, theirs, infos, strict=True)):
            if a is None:
                continue
            if kind == "argument":
                found.arguments += 1
            else:
                found.results += 1
            shape = info.shape
            if b is None or not concrete(a).is_equivalent_to(b, len(shape)):
                yield f"{kind} {index} {shape}: {a} here, {b} of JAX"


def concrete(named: Any) -> Any:
    """The same sharding on the machine's devices."""
    import jax
    import numpy as np

    sizes = dict(named.mesh.shape)
    devices = np.array(jax.devices()[: prod(sizes.values())]).reshape(tuple(sizes.values()))
    return jax.sharding.NamedSharding(jax.sharding.Mesh(devices, tuple(sizes)), named.spec)


class timed:
    def __init__(self, found: Compared, what: str) -> None:
        self.found, self.what = found, what

    def __enter__(self) -> None:
        self.start = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        self.found.seconds[self.what] = round(time.perf_counter() - self.start, 3)


def main() -> None:
    folder, devices, *names = sys.argv[1:]
    import jax

    known = programs(folder, int(devices))
    for name in names or known:
        jax.clear_caches()
        try:
            found = compare(name, known[name])
        except Exception as error:
            found = Compared(name, differing=[f"{type(error).__name__}: {str(error)[:600]}"])
        print(json.dumps(asdict(found)), flush=True)


if __name__ == "__main__":
    main()
