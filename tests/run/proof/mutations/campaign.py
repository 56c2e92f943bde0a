"""Mutants of many programs, proven: which are caught, which are accepted though they differ, which are equal.

Not here: the command (`__main__.py`).
"""

from __future__ import annotations

import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from shardy_py.base.errors import ShardyError
from shardy_py.passes.partitioned import Partitioned
from shardy_py.run.proof import ProofOptions, prove
from tests.run.proof.mutations.broken import Mutant, Subject, chosen
from tests.run.proof.mutations.difference import DIFFERENT, EQUAL, TIMES, Difference, Runs
from tests.run.proof.mutations.reasons import UNEXPLAINED, why_equal

CRASH = "traceback: "
"""Where the text of a proof begins that neither accepts nor rejects."""
HIDDEN = "results are equal: "
"""Where the text of a proof begins that finds a wrong value, and no result that differs."""
_MORE = 10
"""How many times as many inputs are tried where a proof finds a result that differs."""
Prove = Callable[[Partitioned], str]
"""Returns why a program is rejected; "": it is accepted."""


def proof_by(**options: Any) -> Prove:
    """The proof with these options, on the program's own shapes."""

    def verdict(partitioned: Partitioned) -> str:
        try:
            answer = prove(partitioned, ProofOptions(shapes="own", **options))
        except ShardyError as error:
            return f"cannot run: {error}"
        except Exception:
            return CRASH + traceback.format_exc()
        if answer.is_equal:
            return ""
        return (HIDDEN if answer.hidden else "") + str(answer.fault)

    return verdict


PROOFS: dict[str, Prove] = {"exact": proof_by(), "floats": proof_by(floats=True)}


@dataclass(frozen=True)
class Outcome:
    """A mutant, and what was found out.

    rejections: of each proof, "" if it accepts. reason: why it is equal; "": it is not, or was not asked.
    """

    program: str
    kind: str
    number: int
    what: str
    difference: Difference
    rejections: Mapping[str, str]
    reason: str = ""

    @property
    def is_unexplained(self) -> bool:
        """Returns whether it is equal without a reason, or a proof has other results for it."""
        texts = [text for proof, text in self.rejections.items() if proof != "floats"]
        is_shown = all(not text or text.startswith(HIDDEN) for text in texts)
        return self.difference.kind == EQUAL and (self.reason.startswith(UNEXPLAINED) or not is_shown)

    @property
    def command(self) -> str:
        """Repeats it."""
        return (
            f"python -m tests.run.proof.mutations --program {self.program} --kind '{self.kind}' "
            f"--site {self.number}"
        )

    def is_missed(self, proof: str) -> bool:
        """Returns whether a proof accepts it though results differ, or gives no answer."""
        text = self.rejections[proof]
        return text.startswith(CRASH) or (self.difference.kind == DIFFERENT and not text)

    def __str__(self) -> str:
        found = ", ".join(f"{name}: {text or 'accepted'}" for name, text in self.rejections.items())
        difference = f"{self.difference.kind} {self.difference.reason}{self.reason}"
        return "\n    ".join((self.command, self.what, difference, found))


def outcome(subject: Subject, runs: Runs, mutant: Mutant, proofs: Mapping[str, Prove]) -> Outcome:
    """What becomes of a mutant."""
    difference = runs.compare(mutant)
    rejections = {name: proof(mutant.partitioned) for name, proof in proofs.items()}
    if difference.kind == EQUAL and any(text and not text.startswith(HIDDEN) for text in rejections.values()):
        difference = runs.compare(mutant, _MORE)
    return Outcome(
        subject.name,
        mutant.kind,
        mutant.number,
        mutant.what,
        difference,
        rejections,
        why_equal(runs, mutant) if difference.kind == EQUAL else "",
    )


def outcomes(
    name: str,
    kinds: Iterable[str],
    count: int,
    seed: int,
    proofs: Mapping[str, Prove],
    times: int = TIMES,
) -> Iterator[Outcome]:
    """What becomes of `count` valid mutants of each kind of a program; 0: all. times: inputs of each.

    Raises:
        ShardyError: the program cannot be partitioned.
        AssertionError: a proof rejects the unbroken program.
    """
    subject = Subject.named(name)
    for proof, verdict in proofs.items():
        assert not (text := verdict(subject.whole)), f"{proof} rejects the right program {name}: {text}"
    runs = Runs.of(subject.whole, times)
    for kind in kinds:
        valid = 0
        for number in chosen(subject, kind, 0, seed):
            mutant = subject.broken(kind, number)
            if mutant is not None:
                valid += 1
                yield outcome(subject, runs, mutant, proofs)
            if valid == count:
                break


@dataclass
class Table:
    """Counts by kind."""

    proofs: tuple[str, ...]
    counts: dict[str, Counter[str]] = field(default_factory=dict[str, "Counter[str]"])
    missed: list[Outcome] = field(default_factory=list[Outcome])
    unexplained: list[Outcome] = field(default_factory=list[Outcome])
    reasons: Counter[str] = field(default_factory=Counter[str])

    def add(self, found: Outcome) -> None:
        """Counts an outcome."""
        row = self.counts.setdefault(found.kind, Counter())
        row["mutants"] += 1
        row[found.difference.kind] += 1
        for proof in self.proofs:
            is_caught = bool(found.rejections[proof]) and not found.rejections[proof].startswith(CRASH)
            row[f"caught by {proof}"] += is_caught and found.difference.kind == DIFFERENT
            row[f"rejected by {proof}"] += is_caught and found.difference.kind != DIFFERENT
        if found.is_unexplained:
            self.unexplained.append(found)
        if any(found.is_missed(proof) for proof in self.proofs):
            self.missed.append(found)
        if found.difference.kind != DIFFERENT:
            self.reasons[f"{found.difference.kind}: {found.difference.reason}{found.reason}"] += 1

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the counts."""
        caught = (f"{what} by {proof}" for proof in self.proofs for what in ("caught", "rejected"))
        return ("mutants", "different", "rounded", "equal", *caught)

    def __str__(self) -> str:
        total = sum(self.counts.values(), Counter[str]())
        rows = [*sorted(self.counts.items()), ("all", total)]
        head = f"{'kind':22}" + "".join(f"{name:>20}" for name in self.columns)
        lines = [f"{kind:22}" + "".join(f"{row[name]:20}" for name in self.columns) for kind, row in rows]
        return "\n".join([head, *lines])
