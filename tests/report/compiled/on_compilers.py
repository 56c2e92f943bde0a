"""How much of what compilers made is joined with the forecast, and whether it is joined rightly.

    python -m tests.report.compiled.on_compilers --target h100 FOLDER
    python -m tests.report.compiled.on_compilers --target cpu [--set jax|parallel|kinds|flax|equinox]

FOLDER has NAME.hlo, the final HLO of a compiler, beside NAME.mlir, the program with locations; without one
the programs of ../shared/targets, or of a set of tests/xla/spmd, are compiled here, for the host. Bytes
are of the larger side of a device, in all runs. Joined rightly: the line in the metadata of a collective is
that of the forecast, or of the loop that it was moved out of. Withheld: joined again without the metadata of
collectives, or any, and compared with the lines that they had.
"""

from __future__ import annotations

import argparse
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=8")

from shardy_py import Program, Result, propagate
from shardy_py.base import releases
from shardy_py.hardware import hardware_of
from shardy_py.hardware.cost import DEFAULT
from shardy_py.hlo.collectives import collectives_of
from shardy_py.hlo.text import HloModule, Origin, read_module
from shardy_py.report.compiled.forecast import forecast_values
from shardy_py.report.compiled.reporting import device_count
from shardy_py.report.compiled.sent import CompiledAxes, compiled_values
from shardy_py.report.join import Join, JoinEvidence, SentItem, joined, line_of
from shardy_py.xla.targets.compiled import compiler_of
from tests.xla.buffers.on_targets import CHIPS, programs


@dataclass
class Tally:
    """Bytes: all, joined by each evidence, rightly or not, also without metadata. wrong: what is wrong."""

    bytes: Counter[str] = field(default_factory=Counter[str])
    wrong: list[str] = field(default_factory=list[str])

    def add(self, name: str, result: Result, module: HloModule, target: str) -> None:
        """Adds a program and what the compiler of a target made of it."""
        compiler = compiler_of(hardware_of(CHIPS.get(target, target)))
        assert compiler is not None
        axes = CompiledAxes.of(result.program.meshes, device_count(module))
        values = compiled_values(collectives_of(module), axes)
        items = [value.item for value in values]
        forecast = [each.item for each in forecast_values(result.forecasts.spmd("xla"), compiler, DEFAULT)]
        join = joined(items, forecast)
        others = {
            "own withheld": joined([replace(item, origins=()) for item in items], forecast),
            "all withheld": joined([replace(i, origins=(), makers=(), readers=()) for i in items], forecast),
        }
        for number, item in enumerate(items):
            value = values[number].value
            size = max(value.held_bytes, value.made_bytes) * item.runs
            self.bytes["all"] += size
            self.bytes["line in the metadata"] += size if item.lines else 0
            found = join.matches.get(number)
            self.bytes["joined"] += size if found else 0
            self.bytes[
                f"joined by {JoinEvidence(found.evidence).name.lower()}" if found else "not joined"
            ] += size
            self._judge(f"{name}: joined", number, item, join, forecast, size)
            for what, other in others.items():
                self.bytes[f"{what}: joined"] += size if number in other.matches else 0
                self._judge(f"{name}: {what}", number, item, other, forecast, size)

    def _judge(
        self, name: str, number: int, item: SentItem, join: Join, forecast: Sequence[SentItem], size: int
    ) -> None:
        match = join.matches.get(number)
        if match is None or not item.lines:
            return
        own = [forecast[each] for each in match.forecasts]
        lines = {line_of(origin) for each in own for origin in (*each.origins, *each.makers)}
        if lines.isdisjoint(item.lines) and not _is_around(item.origins, own):
            what = name.partition(": ")[2]
            self.bytes[f"{what}: wrong"] += size
            self.wrong.append(f"{name}: {item.kind} {item.sizes} of {item.lines}, joined to {lines}")

    def __str__(self) -> str:
        whole = max(self.bytes["all"], 1)
        for key in ("not joined", "joined: wrong", "own withheld: wrong", "all withheld: wrong"):
            self.bytes[key] += 0
        rows = (
            f"  {key}: {size / 1e6:,.1f} MB, {size * 100 / whole:.2f} %"
            for key, size in sorted(self.bytes.items())
        )
        return "\n".join([*self.wrong, *rows])


def _is_around(origins: Sequence[Origin], forecast: Sequence[SentItem]) -> bool:
    """Whether an origin is the loop that a forecast collective is in."""
    names = [origin.name for each in forecast for origin in each.origins]
    return any(name.startswith(f"{origin.name}/") for origin in origins for name in names)


def of_folder(folder: Path) -> Iterator[tuple[str, str, str]]:
    """Returns the name, the program and the HLO of each pair of files."""
    for hlo in sorted(folder.glob("*.hlo")):
        program = hlo.with_suffix(".mlir")
        if program.exists():
            yield hlo.stem, program.read_text(), hlo.read_text()


def compiled_here(names: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """Returns the programs of ../shared/targets as JAX compiles them for the host."""
    import jax

    for name, (make, sizes, axes, donated, _) in programs().items():
        if names and name not in names:
            continue
        mesh = jax.make_mesh(sizes, axes, axis_types=(jax.sharding.AxisType.Auto,) * len(axes))
        function, arguments = make(mesh)
        lowered = jax.jit(function, donate_argnums=donated).trace(*arguments).lower()
        yield name, lowered.as_text(debug_info=True), lowered.compile().as_text() or ""


def compiled_set(set_: str, names: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """Returns the programs of a set of tests/xla/spmd as JAX compiles them for the host."""
    import jax

    for name, (function, arguments, results) in import_module(f"tests.xla.spmd.{set_}_models").programs():
        if names and name not in names:
            continue
        jitted = function
        if not hasattr(function, "lower"):
            jitted = jax.jit(function) if results is None else jax.jit(function, out_shardings=results)
        lowered = jitted.trace(*arguments).lower()
        yield name, lowered.as_text(debug_info=True), lowered.compile().as_text() or ""


def main() -> None:
    """Prints the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--target", default="cpu")
    parser.add_argument("--jax", default="0.10")
    parser.add_argument("--set", help="programs of tests/xla/spmd, in place of those of ../shared/targets")
    parser.add_argument("--names", nargs="*", default=[])
    given = parser.parse_args()
    tally, count = Tally(), 0
    if given.folder:
        pairs = of_folder(given.folder)
    else:
        pairs = compiled_set(given.set, given.names) if given.set else compiled_here(given.names)
    with releases.of(releases.named(given.jax)):
        for name, text, hlo in pairs:
            result = propagate(Program.parse(text, as_compiled=True), progress=False)
            tally.add(name, result, read_module(hlo, f"{name}.hlo"), given.target)
            count += 1
    print(f"{count} programs, {given.target}\n{tally}")


if __name__ == "__main__":
    main()
