"""The textbook's propagation beside the fast engine's: `python -m tests.propagation.textbook --count N`.

Programs are those of examples/ and of the corpus, and random ones of all kinds; all are imported as before
propagation.
"""

from __future__ import annotations

import argparse
import gzip
import random
import sys
from functools import partial
from itertools import zip_longest
from pathlib import Path
from time import process_time

from xdsl.dialects.builtin import ModuleOp

from shardy_py.base.errors import ShardyError, collected_warnings
from shardy_py.mlir.dialects import parse_module
from shardy_py.passes.import_.constraints import synchronize_groups
from shardy_py.passes.pipeline_options import ImportPipelineOptions
from shardy_py.passes.pipelines import import_passes, inline_passes
from shardy_py.passes.runner import run_passes
from shardy_py.propagation import textbook
from shardy_py.propagation.graph.build import build_program
from shardy_py.propagation.graph.from_module import op_graph
from shardy_py.propagation.op_graph import OpGraph
from shardy_py.propagation.propagate import STRATEGIES, PropagationOptions, propagate
from shardy_py.propagation.rules import rule_of
from tests.differential.meshes import Width
from tests.differential.programs import wide_program
from tests.passes.programs import ProgramWriter
from tests.propagation.random_programs import random_program

ROOT = Path(__file__).parents[2]
_IMPORT, _USUAL = ImportPipelineOptions(), PropagationOptions()
FOLDERS = (ROOT / "examples", ROOT.parent / "shared" / "corpus")


def programs() -> dict[str, Path]:
    """The programs of the repository, and those of the corpus if it is there."""
    paths = (path for folder in FOLDERS for path in sorted(folder.glob("*.mlir*")))
    return {f"{path.parent.name}/{path.name}": path for path in paths if ".propagated" not in path.name}


def text_of(path: Path) -> str:
    """The text of a program, which may be compressed."""
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as file:
        return file.read()


def random_case(seed: int) -> tuple[str, PropagationOptions, ImportPipelineOptions]:
    """A program, how it is propagated, and how it is imported."""
    rng = random.Random(seed)
    text = rng.choice(
        (
            lambda: random_program(seed, keeps_all=rng.random() < 0.5),
            lambda: wide_program(rng, Width(unreduced=rng.choice((0, 0.1)))),
            lambda: wide_program(rng, Width(named=True, calls=False)),
            lambda: ProgramWriter(rng.randrange(1 << 30)).program(),
        )
    )()
    usual = rng.random() < 0.5
    strategy = "aggressive" if usual else rng.choice([*STRATEGIES])
    levels = (True, True) if usual else (rng.random() < 0.5, rng.random() < 0.5)
    options = PropagationOptions(strategy, *levels, conservative_propagation=rng.random() < 0.2)
    return text, options, ImportPipelineOptions(dedup_functions_fully=rng.random() < 0.2)


def imported(text: str, options: ImportPipelineOptions = _IMPORT) -> ModuleOp:
    """A program as propagation gets it."""
    module = parse_module(text)
    with collected_warnings():
        run_passes(module, import_passes(options) + inline_passes(options), verify="never")
        synchronize_groups(module)
    return module


def shown(graph: OpGraph) -> list[str]:
    """The nodes in program order, each with its op and the shardings of its results."""
    nodes = (node for _, node in graph.nodes(data="node"))
    return [f"{node.op} {[str(value.sharding) for value in node.values]}" for node in nodes]


def difference(module: ModuleOp, options: PropagationOptions = _USUAL) -> str:
    """The first node that the fast engine shards differently; "" if there is none. The module changes."""
    deriver = partial(rule_of, conservative_propagation=options.conservative_propagation)
    graph = op_graph(module, deriver)
    found = textbook.propagate(graph, options)
    program = build_program(module, deriver)
    fast = propagate(program.flat, program.meshes, options)
    program.write([fast.interner.values[number] for number in fast.shardings])
    pairs = zip_longest(found, shown(found), shown(op_graph(module, deriver)))
    return next((f"{key}: textbook {ours}, engine {its}" for key, ours, its in pairs if ours != its), "")


def main() -> int:
    parser = argparse.ArgumentParser(description="Compares the textbook with the fast engine.")
    parser.add_argument("--count", type=int, default=1000, help="random programs")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--corpus", action=argparse.BooleanOptionalAction, default=True)
    asked = parser.parse_args()
    start, same, refused, different = process_time(), 0, 0, 0
    for name, path in programs().items() if asked.corpus else ():
        found = difference(imported(text_of(path)))
        same, different = same + (not found), different + bool(found)
        print(f"{name}: {found or 'same'} ({process_time() - start:.1f} s)", flush=True)
    for seed in range(asked.first, asked.first + asked.count):
        text, options, importing = random_case(seed)
        try:
            module = imported(text, importing)
            build_program(module, rule_of)
        except ShardyError:
            refused += 1
            continue
        if found := difference(module, options):
            different += 1
            print(f"seed {seed}, {options}, {importing}: {found}", flush=True)
        else:
            same += 1
    print(f"{same} same, {different} different, {refused} refused, {process_time() - start:.0f} s")
    return different > 0


if __name__ == "__main__":
    sys.exit(main())
