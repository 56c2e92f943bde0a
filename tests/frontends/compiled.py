"""Compares what the JAX adaptor says of a lowered function with what JAX's compiler decides for it.

Run in a process of its own by `compiled_corpus.py` and `compiled_functions.py`: how many devices the host has
is settled when JAX starts.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
from importlib.metadata import version
from math import prod
from typing import Any

from tests.eight_devices import compile_flags
from tests.with_jax import run_with_jax


class OtherApiError(Exception):
    """A function uses what the installed JAX lacks."""


@dataclass
class Compared:
    """One function: how many shardings and local shapes were compared, and what differs.

    seconds: of JAX's lowering, of the adaptor (text to shardings), of JAX's compilation.
    unbuilt: why this release of JAX cannot build the function, written for another; "" if it can.
    """

    name: str
    arguments: int = 0
    results: int = 0
    differing: list[str] = field(default_factory=list[str])
    seconds: dict[str, float] = field(default_factory=dict[str, float])
    unbuilt: str = ""


def quick_flags(devices: int = 8) -> str:
    """XLA's flags for shardings only: as `compile_flags`, and without MLIR for kernels if there is a choice.

    The flag is jaxlib 0.10's; 0.12 does not start with it.
    """
    has_choice = version("jaxlib").startswith("0.10.")
    return compile_flags(devices) + (" --xla_cpu_use_fusion_emitters=false" if has_choice else "")


def run_apart(module: str, *arguments: str) -> dict[str, Compared]:
    """What `python -m tests.frontends.MODULE` finds, by the name of the function."""
    environment = {"XLA_FLAGS": quick_flags(), "JAX_PLATFORMS": "cpu"}
    run = run_with_jax(["-m", f"tests.frontends.{module}", *arguments], environment=environment)
    assert run.returncode == 0, run.stderr[-3000:].decode()
    found = [Compared(**json.loads(line)) for line in run.stdout.splitlines()]
    return {compared.name: compared for compared in found}


def print_compared(functions: Mapping[str, Callable[[], Any]], names: Iterable[str] = ()) -> None:
    """A line of JSON for each of the functions, or of those named; each gives something lowered."""
    import jax

    for name in names or functions:
        jax.clear_caches()
        try:
            found = compare(name, functions[name])
        except OtherApiError as error:
            found = Compared(name, unbuilt=str(error))
        except Exception as error:
            found = Compared(name, differing=[f"{type(error).__name__}: {str(error)[:2000]}"])
        print(json.dumps(asdict(found)), flush=True)


def compare(name: str, build: Callable[[], Any]) -> Compared:
    """Lower, propagate here, compile there."""
    from shardy_py.frontends.jax import propagate_lowered

    found = Compared(name)
    with _timed(found, "lower"):
        lowered = build()
    with _timed(found, "adaptor"):
        ours = propagate_lowered(lowered)
    with _timed(found, "compile"):
        compiled = lowered.compile()
    found.differing += _differences(ours, lowered, compiled, found)
    return found


def _differences(ours: Any, lowered: Any, compiled: Any, found: Compared) -> Iterator[str]:
    import jax

    leaves = partial(jax.tree.leaves, is_leaf=lambda leaf: leaf is None or hasattr(leaf, "donated"))
    values = ours.result.values
    for kind, mine, theirs, infos, local in (
        ("argument", ours.in_shardings, compiled.input_shardings, lowered.args_info, values.arguments()),
        ("result", ours.out_shardings, compiled.output_shardings, lowered.out_info, values.results()),
    ):
        mine, theirs, infos = leaves(mine), leaves(theirs), leaves(infos)
        if not len(mine) == len(theirs) == len(infos):
            yield f"{len(mine)} {kind}s here, {len(theirs)} of JAX, {len(infos)} shapes"
            continue
        pairs = [
            (i, *row) for i, row in enumerate(zip(mine, theirs, infos, strict=True)) if row[0] is not None
        ]
        setattr(found, f"{kind}s", len(pairs))
        tensors = [value for value in local if value.shape is not None]
        tensors = tensors[len(tensors) - len(pairs) :]
        for (index, here, there, info), value in zip(pairs, tensors, strict=True):
            shape = tuple(info.shape)
            if there is None or not _on_devices(here, there).is_equivalent_to(there, len(shape)):
                yield f"{kind} {index} {shape}: {here} here, {there} of JAX"
            elif value.local_shape[: len(shape)] != there.shard_shape(shape):
                yield f"{kind} {index}: shards {value.local_shape} here, {there.shard_shape(shape)} of JAX"


def _on_devices(named: Any, there: Any) -> Any:
    """The same sharding on the devices, in the order of JAX's mesh if it has one of these axes."""
    import jax
    import numpy as np

    sizes = dict(named.mesh.shape)
    mesh = getattr(there, "mesh", None)
    if mesh is None or dict(mesh.shape) != sizes:
        devices = np.array(jax.devices()[: prod(sizes.values())]).reshape(tuple(sizes.values()))
        mesh = jax.sharding.Mesh(devices, tuple(sizes))
    return jax.sharding.NamedSharding(mesh, named.spec, memory_kind=named.memory_kind)


@contextmanager
def _timed(found: Compared, what: str) -> Iterator[None]:
    start = time.perf_counter()
    yield
    found.seconds[what] = round(time.perf_counter() - start, 3)
