"""Single ops of torch with sharded operands: what we say is sent, beside XLA's partitioner and the least.

    python -m tests.frontends.ops_battery [--all] [NAME ...]

Each row is exported, annotated on a mesh of 2 x 4 (dp, tp) and propagated; `ours` are the collectives of the
communication report, `XLA` those in the HLO after `spmd-partitioning` of the same annotated StableHLO,
`whole` those of an op that a hand-written partitioner would run (DTensor's strategy): none where sharded
dimensions are batch-like. Rows that differ are printed, with `--all` every row. Names select rows that
contain them.

Not here: the rows (`battery_*.py`).
"""

from __future__ import annotations

import argparse
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from shardy_py import Mesh
from shardy_py.frontends.torch import from_exported
from shardy_py.xla.spmd.model import CollectivePlan
from tests.frontends.battery_gradients import gradient_rows
from tests.frontends.battery_operands import Row, operand_of
from tests.frontends.battery_ops import op_rows
from tests.frontends.battery_variants import variant_rows
from tests.xla.spmd.compiled import Hlo, partitioned
from tests.xla.spmd.hlo_programs import reported

MESH = Mesh.of(dp=2, tp=4)
DEVICES = 8


@dataclass(frozen=True)
class Outcome:
    """The bytes that each device sends by kind of collective; error: why there are none of ours."""

    row: Row
    ours: Mapping[str, int]
    xla: Mapping[str, int]
    error: str = ""

    @property
    def equals_xla(self) -> bool:
        """Whether kinds are equal, and bytes within 2 %."""
        kinds = {*self.ours, *self.xla}
        return not self.error and all(
            abs(self.ours.get(kind, 0) - self.xla.get(kind, 0)) <= 0.02 * self.xla.get(kind, 0)
            for kind in kinds
        )

    @property
    def is_whole(self) -> bool:
        """Whether nothing is sent that the op does not need."""
        return not self.error and (self.row.whole is None or set(self.ours) == self.row.whole)


class Call(torch.nn.Module):
    """A row's function as a module."""

    def __init__(self, row: Row) -> None:
        super().__init__()
        self.row = row

    def forward(self, operands: list[Any]) -> Any:
        return self.row.function(*operands)


def text_of(row: Row) -> str:
    """The annotated program of a row."""
    pairs = [operand_of(text) for text in row.operands]
    tensors = [tensor for tensor, _ in pairs]
    specs = {f"operands_{number}": spec for number, (_, spec) in enumerate(pairs)}
    if row.is_gradient:
        return program_of_gradient(row, tensors, specs).text()
    exported = torch.export.export(Call(row).eval(), (tensors,))
    return from_exported(exported, MESH, specs).text()


def program_of_gradient(row: Row, tensors: Sequence[Any], specs: Mapping[str, Any]) -> Any:
    """The program of gradients, traced as those of training steps are, with specs of the operands by name."""
    from shardy_py.frontends.torch.programs import annotated
    from tests.frontends.traced_functions import program_of_function

    program = program_of_function(row.gradients, tensors, [*specs], MESH)
    return annotated(program, MESH, specs, "main")


def outcomes(rows: Sequence[Row]) -> Iterator[Outcome]:
    """The outcome of each row."""
    texts: dict[Row, str] = {}
    for each in rows:
        try:
            texts[each] = text_of(each)
        except Exception as error:
            yield Outcome(each, {}, {}, f"{type(error).__name__}: {error}")
    modules = partitioned([*texts.values()], DEVICES)
    for (row, text), xla in zip(texts.items(), modules, strict=True):
        if not xla.after:
            yield Outcome(row, {}, {}, f"not partitioned: {xla.log[-200:]}")
            continue
        theirs = CollectivePlan(tuple(Hlo(xla.after).collectives())).bytes_by_kind
        try:
            ours = reported(text)
        except Exception as error:
            yield Outcome(row, {}, theirs, f"{type(error).__name__}: {error}")
            continue
        yield Outcome(row, {k: b for k, b in ours.items() if b}, {k: b for k, b in theirs.items() if b})


def rows() -> list[Row]:
    """All rows."""
    return [*op_rows(), *variant_rows(), *gradient_rows()]


def _shown(bytes_by_kind: Mapping[str, int]) -> str:
    return ", ".join(f"{kind} {count}" for kind, count in sorted(bytes_by_kind.items())) or "-"


def main(arguments: Sequence[str] | None = None) -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--all", action="store_true")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    chosen = [r for r in rows() if not options.names or any(n in r.name for n in options.names)]
    counts = Counter[str]()
    print(f"{'op':28} {'ours':44} {'XLA':44} whole")
    for outcome in outcomes(chosen):
        counts["equal to XLA"] += outcome.equals_xla
        counts["nothing that a whole op does not need"] += outcome.is_whole
        counts["unsupported"] += bool(outcome.error)
        if options.all or not (outcome.equals_xla and outcome.is_whole):
            wanted = outcome.row.whole
            needed = "?" if wanted is None else ", ".join(sorted(wanted)) or "-"
            print(f"{outcome.row.name:28} {_shown(outcome.ours):44} {_shown(outcome.xla):44} {needed}")
            if outcome.error:
                print(f"    {outcome.error[:200]}")
    print(f"{len(chosen)} ops; " + "; ".join(f"{what}: {count}" for what, count in counts.items()))


if __name__ == "__main__":
    main()
