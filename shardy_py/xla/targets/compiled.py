"""The collectives of a program as the compiler of a device leaves them, by its passes in their order.

    compiled(block, plan, compiler_of(HARDWARE["h100"])).issued

Not here: the passes, names of devices (`hardware/`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache, partial
from itertools import count

from xdsl.dialects.builtin import ModuleOp

from shardy_py.base.records import dataclass
from shardy_py.hardware import Hardware
from shardy_py.ops import TensorType
from shardy_py.xla.prepare.for_gpu import simplified_for_gpu
from shardy_py.xla.prepare.for_tpu import simplified_for_tpu
from shardy_py.xla.spmd.einsum_loops import EinsumLoops
from shardy_py.xla.spmd.program import Block
from shardy_py.xla.spmd.walk import ProgramPlan
from shardy_py.xla.targets.additions import into_scatters
from shardy_py.xla.targets.build import body_of
from shardy_py.xla.targets.combined_sets import ReadOps
from shardy_py.xla.targets.combining import CombinerLimits, Issued, combined, may_combine, read_ops
from shardy_py.xla.targets.concatenated import taken_apart
from shardy_py.xla.targets.exposure import with_exposure
from shardy_py.xla.targets.first_shards import zeros_sent_once
from shardy_py.xla.targets.gathered_broadcasts import gathered_before_broadcasts
from shardy_py.xla.targets.gathered_factors import multiplied_before_gathers
from shardy_py.xla.targets.gpu.computation import fused_ops
from shardy_py.xla.targets.invariants import hoisted
from shardy_py.xla.targets.loops import MOTION, moved_out
from shardy_py.xla.targets.merging import merged
from shardy_py.xla.targets.model import DeviceBody
from shardy_py.xla.targets.moved_converts import with_moved_converts
from shardy_py.xla.targets.narrowing import narrowed, widened
from shardy_py.xla.targets.padding import ScatteredParts, left_for_parts, padded
from shardy_py.xla.targets.rounding import rounded
from shardy_py.xla.targets.sent_once import equal_sent_once, sent_at_once
from shardy_py.xla.targets.simplified import simplified, without_transpositions
from shardy_py.xla.targets.sums import REASSOCIATION, folded, reassociated, scattered, unscattered
from shardy_py.xla.targets.tiles import in_words, scatters_in_tiles, summed

Pass = Callable[[DeviceBody, "count[int]"], DeviceBody]
"""Changes a computation, not those inside; numbers: of new nodes."""
Types = Mapping[int, TensorType | None]
"""The types of the values of computations around another."""

ADDED_FIRST = (MOTION, REASSOCIATION)
"""The passes that add up before they sum over devices."""
_MIB = 2**20
_RINGS = 8
"""Devices of a torus of two dimensions that XLA:TPU takes as one ring; those of three are none from 8 on."""
_LEAST_SECONDS = 1e-8
"""The time of a collective from which on XLA's partitioner judges whether a loop is faster."""
_WAITS = "all_reduce", "reduce_scatter", "all_to_all"
"""The kinds that XLA:TPU runs synchronously; on a torus of three dimensions gathers, too."""


@dataclass(frozen=True, slots=True)
class Compiler:
    """The passes after XLA's partitioner that change collectives, in their order, and what is combined.

    whole: those that run on the entry computation with all in it, after the others. unknown: further changes
    of the compiler, which reports do not have, as a phrase. rewrite: makes a simplified copy of the program
    before it is propagated, so that it gets other shardings; rewrites_alike: whether that is taken also where
    as much is sent for the program as it is. simplify: changes it before the partitioner. synchronous: the
    kinds of collectives that it does not start early. loops: when its partitioner makes loops of products.
    keeps_gathered: whether it gathers a value once for all that need it. fused: the ops of a computation as
    its combiners find them, if they run after fusion.
    """

    name: str
    passes: tuple[Pass, ...]
    limits: CombinerLimits
    whole: tuple[Pass, ...] = ()
    unknown: str = ""
    rewrite: Callable[[ModuleOp], ModuleOp] | None = None
    rewrites_alike: bool = True
    simplify: Callable[[Block], Block] | None = None
    synchronous: tuple[str, ...] = ()
    loops: EinsumLoops | None = None
    keeps_gathered: bool = True
    fused: Callable[[DeviceBody, Types], ReadOps] | None = None


@lru_cache
def _tpu(dimensions: int, bytes_per_second: float, loop_rows: int, scoped_bytes: int) -> Compiler:
    """XLA:TPU; dimensions, bytes_per_second: of the torus and its links. The others are as of `Hardware`."""
    most = _RINGS if dimensions < 3 else _RINGS - 1
    # A product by a matrix of bf16, 2 bytes an element, has 2 flop an element and row.
    loops = EinsumLoops(loop_rows / 2, _LEAST_SECONDS * bytes_per_second, dimensions) if loop_rows else None
    parts = ScatteredParts(scoped_bytes, dimensions)
    fits = partial(scatters_in_tiles, on_flat_torus=dimensions < 3)
    return Compiler(
        "XLA:TPU",
        (
            sent_at_once,
            equal_sent_once,
            zeros_sent_once,
            into_scatters,
            moved_out,
            reassociated,
            partial(scattered, most=most, fits=fits),
            partial(unscattered, most=most, fits=fits),
            partial(padded, parts=parts),
            summed,
            in_words,
        ),
        CombinerLimits(
            ("all_reduce", "reduce_scatter"),
            *(120 * _MIB, 256),
            passes_dependent=True,
            scattered_bytes=left_for_parts(scoped_bytes) if scoped_bytes else 0,
        ),
        (rounded,),
        "" if loops else "loops of permutes instead of gathers for products and of scattered sums",
        rewrite=simplified_for_tpu,
        simplify=without_transpositions,
        synchronous=_WAITS if most >= _RINGS else (*_WAITS, "all_gather"),
        loops=loops,
        keeps_gathered=False,
    )


_GPU = Compiler(
    "XLA:GPU",
    (
        *(with_moved_converts, into_scatters, merged, folded, taken_apart, reassociated, moved_out),
        *(multiplied_before_gathers, gathered_before_broadcasts, narrowed),
        partial(scattered, along_one=True),
    ),
    CombinerLimits(("all_gather", "all_reduce", "reduce_scatter", "collective_permute"), 30 * _MIB + 7, 2048),
    rewrite=simplified_for_gpu,
    rewrites_alike=False,  # so that the changes that are tried are propagated once
    simplify=simplified,
    fused=fused_ops,
)
_CPU = Compiler(
    "XLA:CPU",
    (hoisted, widened),
    CombinerLimits(("all_reduce",), 2**63, 2**31),
    synchronous=(*_WAITS, "all_gather", "collective_permute"),
)


def compiler_of(hardware: Hardware) -> Compiler | None:
    """Returns the compiler for a device; None if its passes are not known here."""
    if hardware.compiler == "tpu":
        network = hardware.network
        rate = network.link.link.bytes_per_second
        return _tpu(network.dimensions, rate, hardware.loop_rows, hardware.scoped_bytes)
    return {"gpu": _GPU, "cpu": _CPU}.get(hardware.compiler)


@dataclass(frozen=True, slots=True)
class CompiledPlan:
    """The program of a device in the end: its body, and its collectives in the order of XLA."""

    body: DeviceBody
    issued: tuple[Issued, ...]


def compiled(block: Block, plan: ProgramPlan, compiler: Compiler) -> CompiledPlan:
    """Returns what a compiler makes of a planned program."""
    return plan_of(compiled_body(block, plan, compiler), compiler)


def plan_of(body: DeviceBody, compiler: Compiler) -> CompiledPlan:
    """Returns the program of a device whose entry computation is this."""
    return CompiledPlan(body, tuple(_issued(body, compiler, {})))


def compiled_body(block: Block, plan: ProgramPlan, compiler: Compiler) -> DeviceBody:
    """Returns the entry computation of a planned program after the passes of a compiler."""
    body = body_of(block, plan, keeps_gathered=compiler.keeps_gathered)
    numbers = count(1 + max(_numbers(body), default=0))
    for each in compiler.passes:
        body = _everywhere(body, each, numbers)
    for each in compiler.whole:
        body = each(body, numbers)
    return body


def _numbers(body: DeviceBody) -> Iterator[int]:
    for number, node in body.nodes.items():
        yield number
        for inner in node.bodies:
            yield from _numbers(inner)


def _everywhere(body: DeviceBody, change: Pass, numbers: count[int]) -> DeviceBody:
    """The body with a pass run on it and all inside, those first."""
    new = {
        number: replace(node, bodies=tuple(_everywhere(inner, change, numbers) for inner in node.bodies))
        for number, node in body.nodes.items()
        if node.bodies
    }
    return change(body.edited(new, {}), numbers)


def _issued(body: DeviceBody, compiler: Compiler, around: Types) -> Iterator[Issued]:
    limits = compiler.limits
    fused = compiler.fused if may_combine(body, limits) else None
    ops = fused(body, around) if fused else read_ops(body)
    issued = combined(body, ops, limits)
    yield from with_exposure(body, issued, compiler.synchronous)
    types = {**around, **{number: node.type for number, node in body.nodes.items()}}
    for number in body.order:
        for inner in body.nodes[number].bodies:
            yield from _issued(inner, compiler, types)
