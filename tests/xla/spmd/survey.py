"""All sets of programs, by our whole way and by the installed XLA: bytes by kind of collective.

`python -m tests.xla.spmd.survey [--set corpus] [--sample 60] [--share 0.3 --seed 1] [--json FILE]` prints the
programs that differ, and for each set how many are within 2 % by kind and in total; with `--share` of as many
of each set, chosen at random. It follows the release of the
installed jaxlib, so that another interpreter surveys another release: `PYTHONPATH=. python3.12 -m
tests.xla.spmd.survey`.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from importlib.util import find_spec
from itertools import groupby
from math import ceil
from pathlib import Path

from shardy_py.base import releases
from shardy_py.xla.spmd.model import CollectivePlan
from tests.conftest import ROOT, corpus_names, corpus_text
from tests.eight_devices import run_on_eight_devices
from tests.report.communication.test_against_xla import PROGRAMS
from tests.xla.spmd import models, pairs, updates
from tests.xla.spmd.compiled import Hlo, installed, partitioned
from tests.xla.spmd.hlo_programs import compared, device_count, near, reported
from tests.xla.spmd.models import lowered

Bytes = Mapping[str, int]
"""By kind of collective."""
Row = tuple[str, Bytes | str, Bytes]
"""A program, its bytes by us or why there are none, and by XLA."""


def of_texts(texts: Mapping[str, str]) -> Iterator[Row]:
    """The programs that XLA partitions, of programs by name."""
    for devices, alike in groupby(sorted(texts.items(), key=_devices), _devices):
        named = dict(alike)
        for (name, text), xla in zip(named.items(), partitioned([*named.values()], devices), strict=True):
            if xla.after:
                yield name, _ours(text), CollectivePlan(tuple(Hlo(xla.after).collectives())).bytes_by_kind


def _devices(named: tuple[str, str]) -> int:
    return device_count(named[1])


def _ours(text: str) -> Bytes | str:
    try:
        return reported(text)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def of_pairs(sample: int) -> Iterator[Row]:
    """Pairs of ops, by the planner alone."""
    for mesh, cases in pairs.random_cases(1, sample).items():
        for case, plans in zip(cases, compared("", cases, mesh.device_count), strict=True):
            if plans is not None:
                yield f"{case.arguments}\n{case.body}", plans[0].bytes_by_kind, plans[1].bytes_by_kind


def _corpus() -> Mapping[str, str]:
    return {name: corpus_text(name) for name in corpus_names()}


def _examples() -> Mapping[str, str]:
    return {path.name: path.read_text() for path in sorted((ROOT / "examples").glob("*.mlir"))}


def _report() -> Mapping[str, str]:
    return {name: text for name, (text, _) in run_on_eight_devices(PROGRAMS).items()}


def _updates(sample: int) -> Mapping[str, str]:
    return {text: text for text in updates.programs(1, sample)}


def texts_of() -> dict[str, Callable[[], Mapping[str, str]]]:
    """The sets of programs that are written: their texts by name."""
    of_models = {
        name: partial(lowered, set_=name)
        for name, packages in models.SETS.items()
        if all(map(find_spec, packages))
    }
    return {"corpus": _corpus, "examples": _examples, "report": _report, **of_models}


def _chosen(texts: Mapping[str, str], share: float, rng: random.Random) -> Mapping[str, str]:
    names = rng.sample(sorted(texts), ceil(share * len(texts)))
    return {name: texts[name] for name in names}


def sets_of(sample: int, share: float = 1, seed: int = 0) -> dict[str, Callable[[], Iterator[Row]]]:
    """The sets by name; `sample`: of the random ones, `share`: of those that are written."""
    texts, rng = {**texts_of(), "updates": partial(_updates, sample)}, random.Random(seed)
    found: dict[str, Callable[[], Iterator[Row]]] = {
        name: lambda get=get: of_texts(_chosen(get(), share, rng)) for name, get in texts.items()
    }
    return {**found, "pairs": partial(of_pairs, sample)}


@releases.of(installed())
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--set", action="append", choices=sets_of(1))
    parser.add_argument("--sample", type=int, default=60)
    parser.add_argument("--share", type=float, default=1, help="of each set of programs")
    parser.add_argument("--seed", type=int, default=0, help="of what is chosen")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    sets = sets_of(options.sample, options.share, options.seed)
    kept, totals = dict[str, list[Row]](), [0, 0, 0]
    print(f"{installed()}:")
    for set_ in options.set or sets:
        rows = kept[set_] = [*sets[set_]()]
        for name, ours, theirs in rows:
            if not _is_near(ours, theirs):
                print(f"{set_} {name}: {ours}; XLA {theirs}")
        counts = len(rows), *(sum(test(o, t) for _, o, t in rows) for test in (_is_near, _is_near_in_total))
        totals = [a + b for a, b in zip(totals, counts, strict=True)]
        print("{}: {} programs, within 2 % by kind {}, in total {}".format(set_, *counts), flush=True)
    print("all: {} programs, within 2 % by kind {}, in total {}".format(*totals))
    if options.json:
        options.json.write_text(json.dumps(kept))


def _is_near(ours: Bytes | str, theirs: Bytes) -> bool:
    return not isinstance(ours, str) and all(
        near(ours.get(kind, 0), theirs.get(kind, 0)) for kind in {*ours, *theirs}
    )


def _is_near_in_total(ours: Bytes | str, theirs: Bytes) -> bool:
    return not isinstance(ours, str) and near(sum(ours.values()), sum(theirs.values()))


if __name__ == "__main__":
    main()
