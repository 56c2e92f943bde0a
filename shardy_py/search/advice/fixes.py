"""Edits as replacements of text in the source files: constraints around expressions, or changed, or removed.

Not here: which edits (`proposals.py`), edits of arguments and results, whose places in the files of a user
are not known.
"""

from __future__ import annotations

import ast
import re
from dataclasses import replace

from shardy_py.base.errors import Position
from shardy_py.base.source_files import SourceFiles
from shardy_py.mlir.text.source import stretch_of
from shardy_py.mlir.value_table import ValueEntry
from shardy_py.report.verdict import SourceFix, SuggestedSharding
from shardy_py.search.advice.pasting import parsed_call, spec_text
from shardy_py.search.advice.remedy import Edit, Language, Proposal
from shardy_py.sharding import TensorSharding

_FUNCTIONS = {"jax": "jax.lax.with_sharding_constraint", "jax with explicit axes": "jax.sharding.reshard"}
_SPEC = re.compile(r"\bP\b(?=[(.])")


def fixes_of(proposal: Proposal, sources: SourceFiles, language: Language) -> tuple[SourceFix, ...]:
    """Returns the replacements that make all edits of a proposal; () if some cannot be made so."""
    function = _FUNCTIONS.get(language)
    if function is None:
        return ()
    fixes = [_fix(edit, sources, function) for edit in proposal]
    known = [fix for fix in fixes if fix is not None]
    return tuple(known) if len(known) == len(fixes) else ()


def annotations_of(proposal: Proposal) -> tuple[SuggestedSharding, ...]:
    """Returns the annotations that make all edits of a proposal in MLIR; () if some are none."""
    if any(edit.rewrite is not None for edit in proposal):
        return ()
    return tuple(suggested(entry, edit.sharding) for edit in proposal for entry in edit.values)


def suggested(entry: ValueEntry, sharding: TensorSharding | None) -> SuggestedSharding:
    """Returns an annotation of a value of the source program."""
    name, text = entry.file_name or entry.name, None if sharding is None else str(sharding)
    return SuggestedSharding(entry.function, entry.role, name, entry.index, text)


def _fix(edit: Edit, sources: SourceFiles, function: str) -> SourceFix | None:
    if edit.kind != "constraint":
        return None
    if edit.site is None:
        return _changed(edit, sources)
    start, text = edit.site.place, edit.site.text
    if not text or edit.sharding is None:
        return None
    end = replace(start, column=start.column + len(text.encode()))
    return SourceFix(start, end, f"{function}({text}, {_spec(edit.sharding)})")


def _changed(edit: Edit, sources: SourceFiles) -> SourceFix | None:
    """The call of a constraint of the program with another sharding, or its first argument alone."""
    stretch = stretch_of(edit.values[0].location)
    if stretch is None or stretch[0].line != stretch[1].line:
        return None
    start, end = stretch
    call = _call(start, end, sources)
    if call is None or not call.args:
        return None
    given = ast.unparse(call.args[0])
    if edit.sharding is None:
        return SourceFix(start, end, given)
    return SourceFix(start, end, f"{ast.unparse(call.func)}({given}, {_spec(edit.sharding)})")


def _call(start: Position, end: Position, sources: SourceFiles) -> ast.Call | None:
    lines = sources.lines(start.file)
    if not 0 < start.line <= len(lines):
        return None
    text = lines[start.line - 1].encode()[start.column : end.column].decode(errors="replace")
    return parsed_call(text)


def _spec(sharding: TensorSharding) -> str:
    """A spec in code that imports `jax` only: `jax.P("x", None)`."""
    return _SPEC.sub("jax.P", spec_text(sharding))
