"""What the command line and the pipelines know of a pass without loading it: `PassRow` and `Option`.

Loading a pass means loading xDSL and what the pass needs, which `sdy-opt --help` shall not pay for. Not here:
the rows themselves (`passes/__init__.py`), nor how options are written (`cli/option_text.py`).

>>> row = PassRow("sdy-close-shardings", "Closes every tensor sharding.")
>>> row.module_name, row.class_name
('shardy_py.passes.close_shardings', 'CloseShardingsPass')
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xdsl.passes import ModulePass

OptionValue = bool | int | str | tuple[str, ...]
"""The value of an option; its default's type is the option's type."""


@dataclass(frozen=True, slots=True)
class Option:
    """One option of a pass or pipeline.

    name: as on the command line, "keep-sharding-rules".
    default: the value without the option; its type is what the option accepts.
    summary: one phrase for the help.
    choices: the words allowed; empty: any.
    """

    name: str
    default: OptionValue
    summary: str
    choices: tuple[str, ...] = ()

    @property
    def field_name(self) -> str:
        """The name of the dataclass field that takes it."""
        return self.name.replace("-", "_")


@dataclass(frozen=True, slots=True)
class PassRow:
    """One pass: everything else (file, class) follows from its name.

    anchor: the op that MLIR runs it on; our passes take whole modules, so it matters only for what
        `--pass-pipeline` accepts. Empty: any op.
    package: the package that holds its file.
    """

    name: str
    summary: str
    options: tuple[Option, ...] = ()
    anchor: str = "builtin.module"
    package: str = "shardy_py.passes"

    @property
    def stem(self) -> str:
        """The name without the dialect's prefix, as Python spells it: the name of the file."""
        return self.name.removeprefix("sdy-").replace("-", "_")

    @property
    def module_name(self) -> str:
        """The module that holds the pass."""
        return f"{self.package}.{self.stem}"

    @property
    def class_name(self) -> str:
        """The class of the pass."""
        return "".join(word.capitalize() for word in self.stem.split("_")) + "Pass"

    def load(self) -> type[ModulePass]:
        """The class, imported on demand."""
        return getattr(import_module(self.module_name), self.class_name)


@dataclass(frozen=True, slots=True)
class PassCall:
    """One pass to run with the options given (by field name); the others keep their defaults."""

    row: PassRow
    options: tuple[tuple[str, OptionValue], ...] = ()

    def build(self) -> ModulePass:
        """The pass itself, loaded on demand."""
        return self.row.load()(**dict(self.options))

    @staticmethod
    def of(row: PassRow, options: Mapping[str, OptionValue]) -> PassCall:
        """A call from a mapping of field names to values."""
        return PassCall(row, tuple(options.items()))
