"""Bytes that each device receives in the local program, beside those in what XLA's SPMD partitioner makes.

    python benchmarks/bytes_sent.py [--json] [--as-written] [NAME|FILE...]

Both start from the same StableHLO with shardings: programs of the corpus, or files. Nothing runs. The bytes
are those of rings (docs/communication.md), times the trip counts of the loops around. An all-reduce whose
only use is a dynamic slice counts as a reduce-scatter in XLA's programs, which writes it so.

XLA inlines calls, folds and expands ops before it propagates shardings, as does
`xla-before-propagation-pipeline` here; `--as-written`: without it.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from math import prod
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from shardy_py import Program, propagate
from shardy_py.hardware.cost import DEFAULT
from shardy_py.hlo.text.reader import read_module
from shardy_py.hlo.text.values import Computation, HloModule, Instruction, Shape
from shardy_py.indexing.layout import layout_bytes
from shardy_py.mlir.dialects import parse_module
from shardy_py.passes.pipelines import before_propagation_passes
from shardy_py.passes.runner import run_passes
from shardy_py.report.tables import bytes_text, table

CORPUS = Path(__file__).resolve().parents[2] / "shared" / "corpus"
CHILD = Path(__file__).with_name("xla_partitioned.py")
DUMP = "*.after_spmd-partitioning*"
SECONDS = 120
KINDS = {
    name.replace("_", "-"): name for name in ("all_reduce", "all_gather", "all_to_all", "reduce_scatter")
}
PERMUTE = "collective-permute"
Bytes = Mapping[str, int]
"""By kind of collective, as the op table names it, the bytes that a device receives."""


def ours(text: str, name: str, *, as_written: bool = False) -> Bytes:
    """Returns the bytes in our local program."""
    program = Program(run_passes(parse_module(text, name), () if as_written else before_propagation_passes()))
    report = propagate(program).partition().communication()
    return {total.key: total.cost.bytes for total in report.by_kind if total.cost.bytes}


def theirs(file: Path, devices: int) -> Bytes | None:
    """Returns the bytes in XLA's program; None if XLA does not partition it."""
    with tempfile.TemporaryDirectory() as directory:
        text = partitioned_by_xla(file, devices, Path(directory))
    return None if text is None else bytes_in(read_module(text, file.name))


def partitioned_by_xla(file: Path, devices: int, directory: Path) -> str | None:
    """Returns the HLO after XLA's partitioner; None if there is none. Does not wait for the compilation."""
    command = [sys.executable, str(CHILD), str(file), str(devices), str(directory)]
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until = monotonic() + SECONDS
        while monotonic() < until:
            is_done = child.poll() is not None
            texts = [path.read_text() for path in directory.glob(DUMP)]
            whole = [text for text in texts if text.rstrip().endswith("}") and "\nENTRY " in text]
            if whole or is_done:
                return whole[0] if whole else None
            sleep(0.1)
    finally:
        child.kill()
        child.wait()
    return None


def bytes_in(module: HloModule) -> Bytes:
    """Returns the bytes that a device receives in the entry computation and all that it runs."""
    found: Counter[str] = Counter()
    for times, computation in _executed(module, module.entry_computation, 1):
        for instruction in computation.instructions:
            if instruction.opcode in KINDS or instruction.opcode == PERMUTE:
                kind, received = _received(instruction, computation)
                found[kind] += times * received
    return {kind: count for kind, count in found.items() if count}


def _executed(module: HloModule, computation: Computation, times: int) -> Iterator[tuple[int, Computation]]:
    """Returns the computations that run, with their number of runs; all branches count as taken."""
    yield times, computation
    for instruction in computation.instructions:
        attributes = instruction.attributes
        if instruction.opcode == "while":
            trips = _trip_count(module, computation, instruction)
            yield from _executed(module, module.by_name[attributes["body"]], times * trips)
            yield from _executed(module, module.by_name[attributes["condition"]], times * (trips + 1))
        elif instruction.opcode == "call":
            yield from _executed(module, module.by_name[attributes["to_apply"]], times)
        elif instruction.opcode == "conditional":
            branches = attributes.get("branch_computations") or (
                attributes["true_computation"],
                attributes["false_computation"],
            )
            for branch in branches:
                yield from _executed(module, module.by_name[branch], times)


def _trip_count(module: HloModule, around: Computation, loop: Instruction) -> int:
    """Returns the trip count of a loop that counts up from 0 by 1; 1 if it is another one."""
    condition = module.by_name[loop.attributes["condition"]]
    test = condition.by_name[condition.root]
    if test.opcode != "compare" or test.attributes.get("direction") != "LT":
        return 1
    counter, limit = (condition.by_name[name] for name in test.operands)
    if counter.opcode != "get-tuple-element" or limit.opcode != "constant":
        return 1
    start = around.by_name[around.by_name[loop.operands[0]].operands[counter.attributes["index"]]]
    while start.opcode == "copy":
        start = around.by_name[start.operands[0]]
    is_counting = start.opcode == "constant" and start.literal == "0"
    return int(limit.literal or 1) if is_counting else 1


def _received(instruction: Instruction, around: Computation) -> tuple[str, int]:
    """Returns the kind of a collective, and the bytes that a device receives in one run."""
    held = sum(_size(around.by_name[name].shape) for name in instruction.operands)
    if instruction.opcode == PERMUTE:
        is_moving = any(a != b for a, b in instruction.attributes["source_target_pairs"])
        return "collective_permute", held * is_moving
    groups = instruction.attributes["replica_groups"]
    kind, axes = KINDS[instruction.opcode], (("group", max(map(len, groups))),)
    if kind == "all_reduce":
        uses = [other.opcode for other in around.instructions if instruction.name in other.operands]
        if uses == ["dynamic-slice"] and instruction.name != around.root:
            kind = "reduce_scatter"
    return kind, getattr(DEFAULT, kind)(axes, held).bytes


def _size(shape: Shape) -> int:
    sizes = ((leaf.element, tuple(size or 0 for size in leaf.sizes)) for leaf in shape.leaves())
    return sum(layout_bytes(*leaf, "linear").unpadded for leaf in sizes if leaf[0] != "token")


def compared(file: Path, *, as_written: bool = False) -> dict[str, Any]:
    """Returns the bytes by kind of both sides, "theirs" None if XLA does not partition the program."""
    data = file.read_bytes()
    text = (gzip.decompress(data) if file.suffix == ".gz" else data).decode()
    meshes = re.findall(r"sdy\.mesh @\S+ = <\[(.*?)\]", text)
    devices = max((prod(map(int, re.findall(r"=(\d+)", mesh))) for mesh in meshes), default=1)
    own = ours(text, file.name, as_written=as_written)
    return {"ours": own, "theirs": theirs(file, devices), "devices": devices}


def rows(found: Mapping[str, dict[str, Any]]) -> Iterator[tuple[str, ...]]:
    """Returns the rows of the table."""
    yield "program", "devices", "ours", "XLA", "ratio", "ours by kind", "XLA by kind"
    for name, sides in found.items():
        own, other = sides["ours"], sides["theirs"]
        total = sum(own.values())
        row = name, str(sides["devices"]), bytes_text(total)
        if other is None:
            yield *row, "not partitioned", "", _by_kind(own), ""
        else:
            most = sum(other.values())
            ratio = f"{total / most:.2f}" if most else "1.00" if not total else "inf"
            yield *row, bytes_text(most), ratio, _by_kind(own), _by_kind(other)


def _by_kind(found: Bytes) -> str:
    return ", ".join(f"{kind} {bytes_text(count)}" for kind, count in sorted(found.items()))


def files_of(names: Iterable[str]) -> dict[str, Path]:
    """Returns the files of programs of the corpus, by name, and files by path."""
    manifest = CORPUS / "manifest.json"
    programs = json.loads(manifest.read_text())["programs"] if manifest.exists() else []
    found: dict[str, Path] = {}
    for name in names or [row["name"] for row in programs]:
        corpus = (CORPUS / f"{name}{suffix}" for suffix in (".mlir", ".mlir.gz"))
        found[name] = next((path for path in corpus if path.exists()), Path(name))
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--as-written", action="store_true")
    options = parser.parse_args()
    found: dict[str, dict[str, Any]] = {}
    for name, file in files_of(options.names).items():
        found[name] = compared(file, as_written=options.as_written)
        print(name, file=sys.stderr, flush=True)
    if options.json:
        print(json.dumps(found, indent=1))
        return
    print(table([*rows(found)], (0, 5, 6)))
    both = [sides for sides in found.values() if sides["theirs"] is not None]
    fewer = sum(sum(sides["ours"].values()) <= sum(sides["theirs"].values()) for sides in both)
    print(f"at most XLA's: {fewer} of {len(both)}")


if __name__ == "__main__":
    main()
