"""The programs of the sets by our partitioner: bytes beside XLA's, and the ops that are computed whole.

`python -m tests.localize.survey [--set corpus] [--json FILE]` prints the programs that receive more bytes
than the forecast of XLA's partitioner has for them (`tests.xla.spmd.survey` compares that with XLA itself),
the warnings of ops that are computed on whole tensors by reason, and how many programs are partitioned.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from traceback import extract_tb

from shardy_py import Program, ShardyError, propagate
from shardy_py.base import releases
from tests.xla.spmd.compiled import installed
from tests.xla.spmd.survey import texts_of

_WHOLE = re.compile(r"'(?P<op>\S+)' op is not partitioned: (?P<reason>.*); (?P<bytes>\d+) bytes are whole")


@dataclass(frozen=True)
class Whole:
    """An op that is computed on whole tensors: why, and the bytes of these."""

    op: str
    reason: str
    bytes: int


@dataclass(frozen=True)
class Row:
    """A program: the bytes that a device receives, by us and by XLA, and what is whole; else the error."""

    name: str
    ours: Mapping[str, int]
    theirs: Mapping[str, int]
    whole: tuple[Whole, ...]
    error: str = ""

    @property
    def ratio(self) -> float:
        own, other = sum(self.ours.values()), sum(self.theirs.values())
        return own / other if other else (1.0 if not own else float("inf"))


def row_of(name: str, text: str) -> Row:
    """Partitions a program of JAX, as JAX compiles it."""
    try:
        result = propagate(Program.parse(text, as_compiled=True))
        local = result.partition()
        bytes_of = [
            {total.key: total.cost.bytes for total in report.by_kind if total.cost.bytes}
            for report in (local.communication(), result.communication(partitioner="xla"))
        ]
        found = (_WHOLE.search(str(warning)) for warning in local.warnings)
        whole = tuple(Whole(m["op"], m["reason"], int(m["bytes"])) for m in found if m)
    except ShardyError as error:
        return Row(name, {}, {}, (), str(error).splitlines()[0])
    except Exception as error:
        place = extract_tb(error.__traceback__)[-1]
        return Row(name, {}, {}, (), f"{type(error).__name__}: {error} ({place.filename}:{place.lineno})")
    return Row(name, bytes_of[0], bytes_of[1], whole)


def rows(sets: list[str]) -> Iterator[tuple[str, Row]]:
    """The programs of the sets, one after the other."""
    found = texts_of()
    for set_ in sets or found:
        for name, text in found[set_]().items():
            yield set_, row_of(name, text)


@releases.of(installed())
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--set", action="append", choices=[*texts_of()])
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    kept: list[tuple[str, Row]] = []
    for set_, row in rows(options.set):
        kept.append((set_, row))
        if row.error:
            print(f"{set_} {row.name}: {row.error}", flush=True)
        elif row.ratio > 1.0:
            print(f"{set_} {row.name}: {row.ratio:.2f}: {dict(row.ours)}; XLA {dict(row.theirs)}", flush=True)
    counted = Counter((whole.op, whole.reason) for _, row in kept for whole in row.whole)
    for (op, reason), count in counted.most_common():
        print(f"{count:>5} {op}: {reason}")
    partitioned = [row for _, row in kept if not row.error]
    print(f"partitioned: {len(partitioned)} of {len(kept)}; computed whole: {counted.total()} ops")
    print(f"at most XLA's bytes: {sum(row.ratio <= 1.0 for row in partitioned)} of {len(partitioned)}")
    if options.json:
        options.json.write_text(json.dumps([(set_, asdict(row)) for set_, row in kept]))


if __name__ == "__main__":
    main()
