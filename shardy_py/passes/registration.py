"""Passes as the command line and the pipelines see them without loading any: `PassRow` and `PassCall`.

A pass is a function on modules, in a file of its own; `PassRow.load` makes its xDSL class, a dataclass whose
fields are the options. Loading a pass loads xDSL, which `sdy-opt --help` must not wait for. Not here: the
rows (`passes/__init__.py`), their options (`options.py`).

>>> row = PassRow("sdy-close-shardings", "Closes every tensor sharding.")
>>> row.module_name, row.class_name
('shardy_py.passes.close_shardings', 'CloseShardingsPass')
"""

from __future__ import annotations

from abc import ABCMeta
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING

from shardy_py.passes.options import Option, OptionValue, options_of

if TYPE_CHECKING:
    from xdsl.context import Context
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.passes import ModulePass


_PACKAGES = {"xla-sdy-": "gspmd.passes", "stablehlo-ext-": "gspmd.passes", "xla-": "xla"}
"""The packages of passes by the first of these prefixes that their names have; others are in `passes/`."""


@dataclass(frozen=True, slots=True)
class PassRow:
    """One pass: everything else (file, function, class) follows from its name.

    options_class: the dataclass of its options; None: it has none.
    anchor: the op that MLIR runs it on; our passes take whole modules, so it matters only for what
        `--pass-pipeline` accepts. Empty: any op.
    """

    name: str
    summary: str
    options_class: type | None = None
    anchor: str = "builtin.module"

    @property
    def options(self) -> tuple[Option, ...]:
        """The options, in the order of their declaration."""
        return options_of(self.options_class)

    @property
    def stem(self) -> str:
        """The name without the dialect's prefix, as Python spells it: the name of the file."""
        prefix = "xla-" if self.package == "xla" else "sdy-"
        return self.name.removeprefix(prefix).replace("-", "_")

    @property
    def package(self) -> str:
        """The package that holds the pass, within `shardy_py`."""
        fits = (package for prefix, package in _PACKAGES.items() if self.name.startswith(prefix))
        return next(fits, "passes")

    @property
    def module_name(self) -> str:
        """The module that holds the pass."""
        return f"shardy_py.{self.package}.{self.stem}"

    @property
    def class_name(self) -> str:
        """The class of the pass."""
        return "".join(word.capitalize() for word in self.stem.split("_")) + "Pass"

    def load(self) -> type[ModulePass]:
        """The class, made on demand from the function of the pass and the dataclass of its options."""
        return _pass_class(self)


@lru_cache(maxsize=4096)
def _pass_class(row: PassRow) -> type[ModulePass]:
    from xdsl.passes import ModulePass

    function: Callable[..., None] = getattr(import_module(row.module_name), row.stem)

    def apply(self: ModulePass, ctx: Context, op: ModuleOp) -> None:
        function(op, self) if row.options_class else function(op)

    bases = (row.options_class, ModulePass) if row.options_class else (ModulePass,)
    members = {"name": row.name, "apply": apply, "__doc__": row.summary, "__module__": row.module_name}
    return dataclass(frozen=True)(ABCMeta(row.class_name, bases, members))


@dataclass(frozen=True, slots=True)
class PassCall:
    """One pass to run with the options given (by field name); the others keep their defaults."""

    row: PassRow
    options: tuple[tuple[str, OptionValue], ...] = ()

    def build(self) -> ModulePass:
        """The pass itself, loaded on demand."""
        return self.row.load()(**dict(self.options))

    def __str__(self) -> str:
        """The pass as it is written within `builtin.module(...)`."""
        given = dict(self.options)
        values = (
            f"{o.name}={o.text(given[o.field_name])}" for o in self.row.options if o.field_name in given
        )
        text = f"{self.row.name}{{{' '.join(values)}}}" if given else self.row.name
        return f"func.func({text})" if self.row.anchor == "func.func" else text

    @staticmethod
    def of(row: PassRow, options: Mapping[str, OptionValue]) -> PassCall:
        """A call from a mapping of field names to values."""
        return PassCall(row, tuple(options.items()))

    def with_options(self, options: Mapping[str, OptionValue]) -> PassCall:
        """The call with some options changed."""
        return PassCall.of(self.row, {**dict(self.options), **options})
