"""Passes for tests of the driver: they exist only while a test runs."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from types import ModuleType

import pytest
from xdsl.dialects.builtin import ModuleOp, StringAttr, UnitAttr

import shardy_py.passes as passes
from shardy_py.base.errors import Diagnostic, Position, ShardyError
from shardy_py.passes import PassRow
from shardy_py.passes.options import option


@dataclass(frozen=True)
class NoteNameOptions:
    text: str = option("x", "name of the attribute")


def note_name(module: ModuleOp, options: NoteNameOptions) -> None:
    """Adds an attribute to the module."""
    module.attributes[f"noted.{options.text}"] = UnitAttr()


def fail_here(module: ModuleOp) -> None:
    """Fails at line 2."""
    raise ShardyError(Diagnostic("cannot go on", Position("<stdin>", 2, 3)))


def break_module(module: ModuleOp) -> None:
    """Leaves an invalid module: a function whose type and arguments disagree."""
    function = next(iter(module.body.block.ops))
    function.properties["sym_name"] = StringAttr("broken")
    function.regions[0].block.erase_arg(function.regions[0].block.args[0], safe_erase=False)


def crash(module: ModuleOp) -> None:
    """A bug of ours."""
    raise KeyError("lost")


@pytest.fixture(autouse=True)
def _test_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    for function in (note_name, fail_here, break_module, crash):
        options_class = NoteNameOptions if function is note_name else None
        name = f"sdy-{function.__name__.replace('_', '-')}"
        row = PassRow(name, function.__doc__ or "", f"passes.{function.__name__}", options_class)
        module = ModuleType(row.module_name)
        setattr(module, row.stem, function)
        monkeypatch.setitem(sys.modules, row.module_name, module)
        monkeypatch.setitem(passes._BY_NAME, row.name, row)
