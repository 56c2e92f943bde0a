"""Converts models by name and compares their numbers with torch's; prints a table with counts.

    python -m tests.frontends.survey [PATTERN ...] [--seconds 180] [--record FILE] [--markdown] [--gradients]

Models are of transformers, torchvision and timm, if they are installed, and written in this folder. Each runs
in a process of its own that is ended after a number of seconds. A run with the record of one that was
interrupted continues it.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import multiprocessing
import sys
from collections import Counter
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch

from tests.frontends.survey import (
    attempts,
    further,
    generators,
    hugging_face,
    images,
    latest,
    measures,
    mixtures,
    newest,
    others,
    packages,
    pictures,
    recommenders,
    sequence_models,
    sounds,
    zoo,
)
from tests.frontends.survey.attempts import Attempt
from tests.frontends.survey.rows import Row
from tests.frontends.survey.steps import attempt_step

ROWS = (
    *recommenders.ROWS,
    *generators.ROWS,
    *sequence_models.ROWS,
    *hugging_face.ROWS,
    *mixtures.ROWS,
    *pictures.ROWS,
    *sounds.ROWS,
    *images.ROWS,
    *packages.ROWS,
    *further.ROWS,
    *others.ROWS,
    *latest.ROWS,
    *newest.ROWS,
    *measures.ROWS,
    *zoo.ROWS,
)


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("patterns", nargs="*", default=["*"])
    parser.add_argument("--seconds", type=float, default=180.0, help="the most for one model")
    parser.add_argument("--record", type=Path, help="a file for the results, one JSON object a line")
    parser.add_argument("--markdown", action="store_true", help="print the table in Markdown")
    parser.add_argument("--gradients", action="store_true", help="compare gradients instead")
    options = parser.parse_args()
    torch.set_num_threads(1)
    for package in ("transformers", "timm", "torchvision"):
        if find_spec(package):
            __import__(package)
    rows = [row for row in ROWS if any(fnmatch.fnmatch(row.name, p) for p in options.patterns)]
    found = recorded(options.record)
    known = {each.name for each in found}
    line = markdown_line if options.markdown else text_line
    if options.markdown:
        print("| model | package | parameters | ops | converted | numbers |")
        print("|---|---|---|---|---|---|")
    for attempt in found:
        print(line(attempt))
    for row in rows:
        if row.name in known or (row.source != "written" and not find_spec(row.source)):
            continue
        found.append(limited(row, options.seconds, attempt_step if options.gradients else attempts.attempt))
        print(line(found[-1]), flush=True)
        if options.record:
            with options.record.open("a") as file:
                file.write(json.dumps(found[-1].record()) + "\n")
    print(f"\n{summary(found)}")


def recorded(file: Path | None) -> list[Attempt]:
    """The attempts of an interrupted run."""
    if file is None or not file.exists():
        return []
    return [Attempt(**json.loads(each)) for each in file.read_text().splitlines()]


def limited(row: Row, seconds: float, attempt: Callable[[Row], Attempt]) -> Attempt:
    """The attempt of a process of its own."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_send, args=(attempt, row, theirs))
    process.start()
    theirs.close()
    stopped = Attempt(row.name, row.source, attempts.STOPPED, (f"more than {seconds:.0f} s",))
    try:
        found = ours.recv() if ours.poll(seconds) else stopped
    except EOFError:
        found = Attempt(row.name, row.source, attempts.STOPPED, ("the process ended",))
    process.kill()
    process.join()
    return found


def _send(attempt: Callable[[Row], Attempt], row: Row, connection: Any) -> None:
    sys.setrecursionlimit(20_000)
    connection.send(attempt(row))
    connection.close()


def markdown_line(found: Attempt) -> str:
    """A row of the table: a model that is not equal has the reason in place of its numbers."""
    is_exported = found.outcome not in (attempts.NOT_EXPORTED, attempts.NOT_BUILT)
    is_converted = is_exported and found.outcome != attempts.UNSUPPORTED
    converted = "yes" if is_converted else "no" if is_exported else found.outcome
    reasons = "; ".join(found.reasons)[:120].replace("|", "\\|")
    numbers = f"equal, {found.difference:.0e}" if found.outcome == attempts.EQUAL else reasons
    sizes = f"{found.parameters:,} | {found.nodes:,}" if is_exported else "|"
    return f"| {found.name} | {found.source} | {sizes} | {converted} | {numbers} |"


def text_line(found: Attempt) -> str:
    return (
        f"{found.name:38} {found.parameters:>10,} {found.nodes:>6} {found.export_seconds:6.1f} "
        f"{found.seconds:6.2f} {found.difference:8.1e} {found.outcome:14} {'; '.join(found.reasons)[:300]}"
    )


def summary(found: list[Attempt]) -> str:
    counts = Counter(each.outcome for each in found)
    exported = sum(each.outcome not in (attempts.NOT_EXPORTED, attempts.NOT_BUILT) for each in found)
    reasons = Counter(reason for each in found for reason in set(each.reasons))
    return "\n".join(
        [
            f"{len(found)} models, {exported} exported: "
            + ", ".join(f"{count} {outcome}" for outcome, count in counts.most_common()),
            *(f"{count:4} {reason[:200]}" for reason, count in reasons.most_common()),
        ]
    )


if __name__ == "__main__":
    main()
