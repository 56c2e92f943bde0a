"""Passes for tests of the driver: they exist only while a test runs."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr, UnitAttr
from xdsl.passes import ModulePass

import shardy_py.passes as passes
from shardy_py.errors import Diagnostic, Position, ShardyError
from shardy_py.passes import PassRow
from shardy_py.passes.options import option


@dataclass(frozen=True)
class NoteNameOptions:
    text: str = option("x", "name of the attribute")


@dataclass(frozen=True)
class NoteNamePass(NoteNameOptions, ModulePass):
    """Adds an attribute to the module."""

    name = "sdy-note-name"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        op.attributes[f"noted.{self.text}"] = UnitAttr()


@dataclass(frozen=True)
class FailHerePass(ModulePass):
    """Fails at line 2."""

    name = "sdy-fail-here"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        raise ShardyError(Diagnostic("cannot go on", Position("<stdin>", 2, 3)))


@dataclass(frozen=True)
class BreakModulePass(ModulePass):
    """Leaves what does not verify: a function whose type and arguments disagree."""

    name = "sdy-break-module"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        function = next(iter(op.body.block.ops))
        function.properties["sym_name"] = StringAttr("broken")
        function.regions[0].block.erase_arg(function.regions[0].block.args[0], safe_erase=False)


@dataclass(frozen=True)
class CrashPass(ModulePass):
    """A bug of ours."""

    name = "sdy-crash"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        raise KeyError("lost")


CLASSES: tuple[type[Any], ...] = (NoteNamePass, FailHerePass, BreakModulePass, CrashPass)


@pytest.fixture(autouse=True)
def _collector() -> Iterator[None]:
    """Commands leave the garbage collector off, because their process ends."""
    yield
    gc.unfreeze()
    gc.enable()


@pytest.fixture(autouse=True)
def _test_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    for pass_class in CLASSES:
        options_class = NoteNameOptions if pass_class is NoteNamePass else None
        row = PassRow(pass_class.name, pass_class.__doc__ or "", options_class)
        module = ModuleType(row.module_name)
        setattr(module, row.class_name, pass_class)
        monkeypatch.setitem(sys.modules, row.module_name, module)
        monkeypatch.setitem(passes._BY_NAME, row.name, row)
