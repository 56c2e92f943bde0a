"""Programs of `programs/` and random ones, partitioned, with one change: what kinds of changes there are.

    program = Subject.named("embedding")
    mutant = program.broken("index offset", 0)      # a Partitioned, whose local program has the change
    mutant.what

Not here: whether a change matters (`difference.py`), proofs (`campaign.py`).
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from xdsl.ir import Operation

from shardy_py import Program, Result, propagate
from shardy_py.base.errors import ShardyError
from shardy_py.mlir.dialects.registry import syntax_table
from shardy_py.mlir.dialects.verification import verify_module
from shardy_py.mlir.ir import walk_pre_order
from shardy_py.mlir.movements import recorded
from shardy_py.mlir.text.naming import ValueNames
from shardy_py.passes.partitioned import Partitioned
from tests.reshard.random import program
from tests.run.proof.mutations.attributes import ATTRIBUTES
from tests.run.proof.mutations.by_device import BY_DEVICE
from tests.run.proof.mutations.communication import COMMUNICATION
from tests.run.proof.mutations.edits import Site
from tests.run.proof.mutations.flow import FLOW
from tests.run.proof.mutations.movement import MOVEMENT
from tests.run.proof.mutations.uses import USES
from tests.run.proof.mutations.values import VALUES

FOLDER = Path(__file__).parent / "programs"
RANDOM = "random:"
"""Programs of that name and a seed are those of `tests/reshard/random.py`."""
SMALL, FEW = "small:", 4
"""The same with few ops, which are proven in about 0.1 s each."""
NAMES = tuple(sorted(path.stem for path in FOLDER.glob("*.mlir")))
_EVERYWHERE = {**COMMUNICATION, **FLOW, **MOVEMENT, **VALUES, **USES, **ATTRIBUTES}
KINDS = (*_EVERYWHERE, *BY_DEVICE)


@dataclass(frozen=True, eq=False)
class Mutant:
    """A partitioned program with one change in its local program.

    before: the ops of the local program in the order that they had, those of the unbroken one.
    """

    kind: str
    number: int
    what: str
    partitioned: Partitioned
    before: tuple[Operation, ...]


@dataclass(frozen=True, eq=False)
class Subject:
    """A program to be broken."""

    name: str
    text: str

    @staticmethod
    def named(name: str) -> Subject:
        """A program of the folder, a random one, or that of a file, whose name ends in `.mlir`."""
        if name.endswith(".mlir"):
            return Subject(name, Path(name).read_text())
        if name.startswith(RANDOM):
            return Subject(name, program(int(name.removeprefix(RANDOM))))
        if name.startswith(SMALL):
            return Subject(name, program(int(name.removeprefix(SMALL)), FEW))
        return Subject(name, (FOLDER / f"{name}.mlir").read_text())

    @cached_property
    def result(self) -> Result:
        """The propagated program."""
        return propagate(Program.parse(self.text), progress=False)

    def partitioned(self) -> Partitioned:
        """The program and its local program, made anew."""
        return self.result.partition().partitioned

    @cached_property
    def whole(self) -> Partitioned:
        """The unbroken program."""
        return self.partitioned()

    def sites(self, kind: str) -> int:
        """The number of places for a change; some of them give an invalid program."""
        return sum(1 for _ in _sites(kind, self.whole))

    def broken(self, kind: str, number: int) -> Mutant | None:
        """The program with a change; None if it is invalid."""
        made = self.partitioned()
        before = tuple(walk_pre_order(made.local))
        site = next(site for at, site in enumerate(_sites(kind, made)) if at == number)
        what = _text(made, site)
        try:
            with recorded() as events:
                site.apply()
            verify_module(made.local)
        except ShardyError:
            return None
        return Mutant(kind, number, what, replace(made, events=(*made.events, *events)), before)


def _sites(kind: str, made: Partitioned) -> Iterator[Site]:
    if kind in BY_DEVICE:
        return BY_DEVICE[kind](made.local, made.grid.size)
    return _EVERYWHERE[kind](made.local)


def _text(made: Partitioned, site: Site) -> str:
    names = ValueNames(made.local, syntax_table()).of
    name = names.get(id(site.op.results[0]), "") + " = " if site.op.results else ""
    return f"{name}{site.op.name}: {site.what}"


def chosen(subject: Subject, kind: str, count: int, seed: int) -> list[int]:
    """Places for changes of a kind: `count` of them, in random order; 0: all."""
    sites = list(range(subject.sites(kind)))
    random.Random(f"{seed} {subject.name} {kind}").shuffle(sites)
    return sites[: count or None]
