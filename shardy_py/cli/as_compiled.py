"""`--as-compiled`, `--as-written` and `--jax` of the commands, and the remark on how a program is taken.

XLA changes a program of JAX before it propagates shardings, so that its inner values get other shardings than
those of the text. Not here: the rule (`xla/prepare/taken.py`).
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from shardy_py.base import releases
from shardy_py.base.errors import located
from shardy_py.base.releases import NEWEST, RELEASES, named
from shardy_py.cli.arguments import source_roots
from shardy_py.cli.shell import argument, log
from shardy_py.cli.torch_plans import NO_PLAN, TorchPlan, planned_program

if TYPE_CHECKING:
    from collections.abc import Callable

    from shardy_py.api import Program
    from shardy_py.cli.shell import InputFile
    from shardy_py.xla.prepare.taken import Taken

AS_COMPILED = "Take the program as JAX compiles it: change it first as XLA does before it propagates"
AS_WRITTEN = "Take the program as it is written"
JAX = f"The release of JAX whose Shardy and XLA are followed (default: that of bytecode, else {NEWEST.name})"
"""The help of `--jax`."""
JAX_RELEASES = "|".join(release.name for release in RELEASES)
TRIP_COUNTS = (
    "Iterations of loops whose number the program does not tell: 100, model.py:12=8 (may be repeated)"
)


def add_flags(parser: argparse.ArgumentParser, *, default: bool | None = False) -> None:
    """Adds both flags, of which one may be given: `as_compiled` is True, False or `default`.

    default: None: a program of JAX is taken as compiled, any other as written.
    """
    group = parser.add_mutually_exclusive_group()
    compiled = f"{_lower(AS_COMPILED)}{' (default for programs of JAX)' if default is None else ''}"
    written = f"{_lower(AS_WRITTEN)} ({'default for other programs' if default is None else 'default'})"
    group.add_argument("--as-compiled", action="store_true", default=default, help=compiled)
    group.add_argument(
        "--as-written", action="store_false", dest="as_compiled", default=default, help=written
    )


def add_release(parser: argparse.ArgumentParser) -> None:
    """Adds `--jax`, whose value is `release`."""
    parser.add_argument("--jax", type=named, dest="release", metavar=JAX_RELEASES, help=_lower(JAX))


def add_trip_counts(parser: argparse.ArgumentParser) -> None:
    """Adds `--trip-count`, whose values are `trip_counts`."""
    parser.add_argument(
        *("--trip-count",),
        action="append",
        dest="trip_counts",
        default=[],
        metavar="N",
        help=_lower(TRIP_COUNTS),
    )


def program_of(
    source: InputFile,
    options: argparse.Namespace,
    *,
    has_steps: bool = True,
    torch_plan: TorchPlan = NO_PLAN,
) -> Program:
    """Returns a program that was read; remarks on standard error say what was done to it, and why.

    options: those of `add_flags`, `add_release`, and of `add_source_roots` where a command has them.
    has_steps: whether XLA's steps run where they are to; not if it has been propagated.
    torch_plan: of an archive of torch.

    Raises:
        ShardyError: the program is invalid, or the plan does not fit it.
    """
    from shardy_py.api import Program
    from shardy_py.api.reading import read_module, taken_module
    from shardy_py.base.inputs.files import ProgramSource
    from shardy_py.cli.understood import write_remarks
    from shardy_py.mlir.trip_counts import TripCounts, set_trip_counts

    with argument("--trip-count"):
        counts = TripCounts.parse(getattr(options, "trip_counts", ()))
    asked: Any = {"as_compiled": options.as_compiled, "has_steps": has_steps}
    with located(source.start), releases.of(options.release or source.release or releases.current()):
        planned = planned_program(source.content, source.file, torch_plan)
        if planned is None:
            read = read_module(ProgramSource(source.content), source.file, trip_counts=counts, **asked)
        else:
            set_trip_counts(planned.module, counts)
            read = taken_module(planned.module, **asked)
    write_remarks(read.remarks, source.file, log)
    remark_on(read.taken, source.file, log)
    roots = source_roots(getattr(options, "source_roots", None), source.file)
    return Program(read.module, roots, read.taken)


def remark_on(taken: Taken, file: str, write: Callable[[str], object]) -> None:
    """Writes how a program is taken, and why, unless a flag decided."""
    from shardy_py.cli.understood import write_remarks
    from shardy_py.xla.prepare.taken import IN_SHELL

    if remark := taken.remark(IN_SHELL):
        write_remarks((remark,), file, write)


def _lower(text: str) -> str:
    return text[0].lower() + text[1:]
