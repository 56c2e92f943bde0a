"""The arithmetic of programs beside XLA's: `python -m tests.report.time.flops --set SET [NAME...]`.

SET is `corpus`, or one of `tests/spmd/SET_models.py`. For each program, floating-point operations and
transcendental functions of the whole program and of each device, counted by us and by XLA's cost analysis of
the HLO before and after its partitioner, and the ratio; a loop counts as one iteration. With `--compiled`
also beside the cost analysis of the optimized program. Last, the numbers of programs within 1 %.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from shardy_py.api import Program, propagate
from shardy_py.report.time.counted import Counted, counted
from shardy_py.xla.spmd.inlined import spmd_program
from tests.conftest import corpus_names, corpus_text
from tests.eight_devices import run_on_eight_devices
from tests.xla.spmd.compiled import Partitioned, partitioned
from tests.xla.spmd.hlo_programs import device_count
from tests.xla.spmd.models import SETS, lowered

CLOSE, FEW = 0.01, 100

_ANALYZE = """
import json, sys
import jax
from jaxlib import _hlo, _jax

client = jax.devices()[0].client
found = []
for text in json.load(sys.stdin):
    cost = _jax.hlo_module_cost_analysis(client, _hlo.hlo_module_from_text(text)) if text else {}
    found.append([cost.get("flops", 0.0), cost.get("transcendentals", 0.0)])
print(json.dumps(found))
"""

_COMPILE = """
import json, sys
import jax
from jax._src import compiler
from jax._src.interpreters import mlir
from jax._src.lib import xla_client
from jax._src.lib.mlir import ir

found = []
devices = tuple(jax.devices())
for text, count in json.load(sys.stdin):
    options = compiler.get_compile_options(num_replicas=1, num_partitions=count)
    options.executable_build_options.use_spmd_partitioning = True
    options.executable_build_options.use_shardy_partitioner = "sdy.mesh" in text
    try:
        with mlir.make_ir_context():
            made = devices[0].client.compile_and_load(
                ir.Module.parse(text), xla_client.DeviceList(devices[:count]), options
            )
        cost = made.cost_analysis()
        found.append([cost.get("flops", 0.0), cost.get("transcendentals", 0.0)])
    except Exception:
        found.append(None)
print(json.dumps(found))
"""


class Figures(NamedTuple):
    """Operations and transcendental functions."""

    flops: float
    transcendentals: float


class Compared(NamedTuple):
    """Ours and XLA's, of the whole program and of each device."""

    whole: tuple[Figures, Figures]
    local: tuple[Figures, Figures]

    def is_close(self, *, of_device: bool) -> bool:
        """Whether operations are within 1 %, or within a hundred."""
        ours, theirs = self.local if of_device else self.whole
        return abs(ours.flops - theirs.flops) <= max(CLOSE * theirs.flops, FEW)

    @property
    def ratios(self) -> tuple[float, float]:
        """Operations of the whole program and of each device, ours by XLA's."""
        pairs = (self.whole, self.local)
        first, second = (ours.flops / theirs.flops if theirs.flops > 0 else 1.0 for ours, theirs in pairs)
        return first, second


def texts_of(set_: str, names: Sequence[str]) -> dict[str, str]:
    """The programs of a set by name, by default all."""
    if set_ == "corpus":
        return {name: corpus_text(name) for name in names or corpus_names()}
    return lowered(names, set_)


def analyzed(texts: Iterable[str]) -> list[Figures]:
    """XLA's cost analysis of HLO."""
    return [Figures(*each) for each in run_on_eight_devices(_ANALYZE, [*texts])]


def compiled(texts: Iterable[str]) -> list[Figures | None]:
    """XLA's cost analysis of compiled programs; None for those that it does not compile on eight devices."""
    found = run_on_eight_devices(_COMPILE, [[text, device_count(text)] for text in texts])
    return [None if each is None else Figures(*each) for each in found]


def ours(text: str) -> tuple[Figures, Figures]:
    """Of the whole program, and of each device."""
    program = spmd_program(propagate(Program.parse(text, as_compiled=True)).program.module)
    found: Counted = counted(program, program.entries[0], repeats=False)
    pairs = (found.whole, found.local)
    whole, local = (Figures(each.all_flops, each.transcendentals) for each in pairs)
    return whole, local


def comparisons(texts: dict[str, str]) -> dict[str, Compared]:
    """By program, the figures; those that XLA does not partition are left out."""
    by_devices = Counter(device_count(text) for text in texts.values())
    modules: dict[str, Partitioned] = {}
    for devices in by_devices:
        chosen = [name for name, text in texts.items() if device_count(text) == devices]
        modules |= zip(chosen, partitioned([texts[name] for name in chosen], devices), strict=True)
    names = [name for name in texts if modules[name].after]
    both = analyzed(text for name in names for text in (modules[name].before, modules[name].after))
    return {
        name: Compared((mine[0], whole), (mine[1], local))
        for name, whole, local in zip(names, both[::2], both[1::2], strict=True)
        for mine in [ours(texts[name])]
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--set", choices=("corpus", *SETS), default="corpus")
    parser.add_argument("--compiled", action="store_true")
    options = parser.parse_args()
    texts = texts_of(options.set, options.names)
    found = comparisons(texts)
    optimized = dict.fromkeys(found)
    if options.compiled:
        optimized = dict(zip(found, compiled(texts[name] for name in found), strict=True))
    head = ("program", "whole", "ratio", "device", "ratio", "functions", "ratio")
    print("{:34} {:>13} {:>7} {:>13} {:>7} {:>11} {:>7}".format(*head))
    for name, each in found.items():
        (mine, _), functions = each.local, [figures.transcendentals for figures in each.local]
        ratio = functions[0] / functions[1] if functions[1] else 1.0
        line = f"{name:34} {each.whole[0].flops:13,.0f} {each.ratios[0]:7.4f} {mine.flops:13,.0f} "
        line += f"{each.ratios[1]:7.4f} {functions[0]:11,.0f} {ratio:7.4f}"
        made = optimized[name]
        if made is not None and made.flops:
            line += f"  compiled {mine.flops / made.flops:7.4f}"
        print(line, flush=True)
    for which in ("whole", "device"):
        close = sum(each.is_close(of_device=which == "device") for each in found.values())
        print(f"{which}: {len(found)} programs, within 1 % in {close}")


if __name__ == "__main__":
    main()
