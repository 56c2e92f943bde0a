"""Full rematerializations beside XLA's log: `python -m tests.xla.spmd.rematerialized [--set SET]`.

Prints the programs where XLA logs them or the report has them, with the numbers of both.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from shardy_py.api import Program, propagate
from shardy_py.base import releases
from tests.xla.spmd.compiled import installed, partitioned
from tests.xla.spmd.models import DEVICES, SETS, lowered

_LOGGED = re.compile(r"nvoluntary full rematerialization")


class Counts(NamedTuple):
    """How many there are for a program: in XLA's log, and in the report."""

    logged: int
    reported: int

    @property
    def agree(self) -> bool:
        """Whether both have some, or neither has."""
        return (self.logged > 0) == (self.reported > 0)


def counts(names: Sequence[str] = (), set_: str = "jax") -> Mapping[str, Counts]:
    """By program of a set."""
    texts = lowered(names, set_)
    compiled = partitioned([*texts.values()], DEVICES)
    return {
        name: Counts(len(_LOGGED.findall(xla.log)), _reported(text))
        for (name, text), xla in zip(texts.items(), compiled, strict=True)
    }


def _reported(text: str) -> int:
    result = propagate(Program.parse(text, as_compiled=True))
    return len(result.communication(partitioner="xla").rematerialized)


@releases.of(installed())
def main() -> None:
    """Prints what differs, and how many programs agree."""
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--set", choices=SETS, default="jax")
    options = parser.parse_args()
    found = counts(options.names, options.set)
    for name, each in found.items():
        if each.logged or each.reported:
            print(f"{name}: logged {each.logged}, reported {each.reported}")
    agree, logged = (
        sum(each.agree for each in found.values()),
        sum(each.logged > 0 for each in found.values()),
    )
    print(f"{len(found)} programs: agree in {agree}, logged in {logged}")


if __name__ == "__main__":
    main()
