"""Reads the modules of programs: with shardings of sdy, and taken as compiled or as written; says so once.

Not here: files (`base/inputs/files.py`), the rule (`xla/prepare/taken.py`), the import
(`xla/gspmd/understanding.py`), programs (`program.py`).
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from shardy_py.api import remarks
from shardy_py.api.arguments import expect, expect_flags, program_remedy
from shardy_py.base import releases
from shardy_py.base.errors import ShardyError
from shardy_py.base.inputs.files import SUFFIXES, ProgramSource, source_of
from shardy_py.base.records import dataclass
from shardy_py.base.releases import Release
from shardy_py.base.session import without_collection
from shardy_py.mlir.programs import parse_program
from shardy_py.mlir.trip_counts import TripCounts, set_trip_counts
from shardy_py.xla.gspmd.understanding import understand
from shardy_py.xla.prepare.taken import Taken, how_taken, run_steps


@dataclass(frozen=True, slots=True)
class Read:
    """A module that was read, how it is taken, and remarks on the import of its shardings."""

    module: ModuleOp
    taken: Taken
    remarks: tuple[str, ...] = ()


def read_module(
    text: str | bytes | ProgramSource,
    file: str,
    *,
    as_compiled: bool | None = None,
    imported: bool = True,
    has_steps: bool = True,
    trip_counts: TripCounts | None = None,
    release: Release | None = None,
) -> Read:
    """Returns the module of a text or of bytecode, verified.

    as_compiled: how it is taken; None: by rule. imported: whether shardings other than sdy's are imported.
    has_steps: whether XLA's steps run where they are to; otherwise it is as one that has been propagated.
    trip_counts: of loops whose number of iterations the program does not tell.
    release: whose Shardy and XLA it is taken to; None: of the one that wrote it if that is certain, else of
        the current one.

    Raises:
        ShardyError: the program is invalid, or its shardings are.
    """
    expect(text, (str, bytes, ProgramSource), "the text of a program, or bytecode", program_remedy)
    if isinstance(text, bytes):
        text = source_of(text, file)
    content: str | bytes
    if isinstance(text, ProgramSource):
        content, text, release = text.content, text.text, release or text.release
    else:
        content = text
    if "\n" not in text and text.rstrip().endswith((*SUFFIXES, ".py")):
        got, remedy = f"the name of a file, {text!r}", "Program.load reads files"
        raise ShardyError.unexpected("", expected="the text of a program", got=got, remedy=remedy)
    with without_collection(begins_program=True), releases.of(release or releases.current()):
        module = parse_program(content, file, verified=True)
        if trip_counts is not None:
            set_trip_counts(module, trip_counts)
        return taken_module(module, as_compiled=as_compiled, imported=imported, has_steps=has_steps)


def taken_module(
    module: ModuleOp, *, as_compiled: bool | None = None, imported: bool = True, has_steps: bool = True
) -> Read:
    """Returns a module that is verified, changed in place, as `read_module` does."""
    expect_flags(imported=imported, as_compiled=as_compiled is None or as_compiled)
    taken = how_taken(module, as_compiled)  # before the import, which leaves fewer traces
    said = understand(module) if imported else ()
    if has_steps:
        run_steps(module, taken)
    return Read(module, taken, said)


def say(read: Read, file: str) -> None:
    """Logs the remarks on a module; how it is taken as a warning, which is shown by default, if by JAX."""
    remarks.say(read.remarks, file)
    if remark := read.taken.remark():
        remarks.say((remark,), file, remarks.WARNING if read.taken.is_by_jax else remarks.INFO)
