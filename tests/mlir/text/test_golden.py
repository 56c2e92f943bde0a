"""What C++ MLIR says of small texts: what they print as, or which message they give and where.

The cases stand in `golden/`, input and answer side by side, of the oldest release. With REWRITE_GOLDEN=1 the
answers are taken from its jaxlib anew; without, jaxlib (where it is installed) is only asked whether they are
still right, and one of another release whether it says what is said here in that release.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from shardy_py.base import releases
from shardy_py.base.errors import Diagnostic, ShardyError
from shardy_py.base.releases import JAX_0_10, Release
from shardy_py.mlir.dialects import parse_module, print_module
from tests.with_jax import run_with_jax

FOLDER = Path(__file__).parent / "golden"
CASE, ANSWER = "// -----\n", "// ==>\n"


@dataclass(frozen=True)
class Mode:
    """How the texts of a file are read and printed."""

    allow_unregistered: bool = True
    generic: bool = False
    debuginfo: bool = False


MODES = {
    "attributes": Mode(),
    "types": Mode(),
    "programs": Mode(),
    "registered": Mode(allow_unregistered=False),
    "locations": Mode(debuginfo=True),
    "generic": Mode(generic=True),
}


def cases(name: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for case in (FOLDER / f"{name}.mlir").read_text("utf-8").split(CASE):
        text, _, answer = case.partition(ANSWER)
        found.append((text, answer))
    return found


def spelled(diagnostic: Diagnostic) -> str:
    place = diagnostic.where
    assert place is not None
    notes = "".join(f" [note: {spelled(note)}]" for note in diagnostic.notes)
    return f'loc("{place.file}":{place.line}:{place.column}): {diagnostic.message}{notes}'


def answer_of(text: str, mode: Mode) -> str:
    try:
        module = parse_module(text, allow_unregistered=mode.allow_unregistered)
    except ShardyError as error:
        return "ERR " + " | ".join(map(spelled, error.diagnostics)) + "\n"
    return print_module(module, generic=mode.generic, debuginfo=mode.debuginfo).rstrip("\n") + "\n"


@releases.of(JAX_0_10)
def oldest_answer_of(text: str, mode: Mode) -> str:
    return answer_of(text, mode)


@pytest.mark.parametrize("name", MODES)
def test_every_answer(name: str) -> None:
    wrong = [
        f"{text}{ANSWER}{ours}instead of\n{answer}"
        for text, answer in cases(name)
        if (ours := oldest_answer_of(text, MODES[name])) != answer
    ]
    assert not wrong, f"{len(wrong)} of {name}:\n" + CASE.join(wrong[:5])


@pytest.mark.parametrize("name", ["attributes", "types", "programs", "locations", "generic"])
def test_printed_text_reads_as_the_same(name: str) -> None:
    mode = MODES[name]
    for text, answer in cases(name):
        if not answer.startswith("ERR"):
            assert oldest_answer_of(answer, mode) == answer or mode.debuginfo, text


REFERENCE = """
import json, sys
from jaxlib.mlir import ir
from jaxlib.mlir._mlir_libs import _jax_mlir_ext
from jaxlib.mlir.dialects import chlo, sdy, stablehlo
registry = ir.DialectRegistry()
_jax_mlir_ext.register_dialects(registry)
def answer(text, unregistered, generic, debuginfo):
    context = ir.Context()
    context.append_dialect_registry(registry)
    context.enable_multithreading(False)
    for register in (chlo.register_chlo_dialect, sdy.register_dialect, stablehlo.register_dialect):
        register(context)
    context.load_all_available_dialects()
    context.allow_unregistered_dialects = unregistered
    with context:
        try:
            module = ir.Module.parse(text)
        except ir.MLIRError as error:
            def spell(d):
                return f"{d.location}: {d.message}" + "".join(f" [note: {spell(n)}]" for n in d.notes)
            return "ERR " + " | ".join(map(spell, error.error_diagnostics))
        return module.operation.get_asm(print_generic_op_form=generic, enable_debug_info=debuginfo)
texts, mode = json.load(sys.stdin)
json.dump([answer(text, *mode) for text in texts], sys.stdout)
"""


@pytest.mark.reference
@pytest.mark.parametrize("name", MODES)
def test_reference_agrees(name: str, release_of_jaxlib: Release) -> None:
    pytest.importorskip("jaxlib", reason="jaxlib holds the C++ reference")
    import json

    mode = MODES[name]
    found = cases(name)
    request = [[text for text, _ in found], [mode.allow_unregistered, mode.generic, mode.debuginfo]]
    run = run_with_jax(["-c", REFERENCE], json.dumps(request).encode())
    assert run.returncode == 0, run.stderr[-2000:].decode()
    answers = [answer.rstrip("\n") + "\n" for answer in json.loads(run.stdout)]
    if os.environ.get("REWRITE_GOLDEN"):
        texts = [f"{text}{ANSWER}{answer}" for (text, _), answer in zip(found, answers, strict=True)]
        (FOLDER / f"{name}.mlir").write_text(CASE.join(texts), "utf-8")
        return
    if release_of_jaxlib is not JAX_0_10:
        found = [(text, answer_of(text, mode)) for text, _ in found]
    differ = [
        (text, answer, theirs)
        for (text, answer), theirs in zip(found, answers, strict=True)
        if answer != theirs
    ]
    assert not differ, differ[:3]
