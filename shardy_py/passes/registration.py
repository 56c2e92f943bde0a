"""Passes as the command line and the pipelines see them without loading any: `PassRow` and `PassCall`.

A pass is a function on modules, called by the name of the pass. Loading one loads xDSL, which `sdy-opt
--help` must not wait for. Not here: the rows (`table/`), their options (`options.py`), the
classes of passes for xDSL (`universe.py`).

>>> row = PassRow("sdy-lift-inlined-meshes", "Converts inlined meshes.", "passes.import_.meshes")
>>> row.module_name, row.stem, row.class_name
('shardy_py.passes.import_.meshes', 'lift_inlined_meshes', 'LiftInlinedMeshesPass')
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from importlib import import_module
from typing import TYPE_CHECKING

from typing_extensions import override

from shardy_py.base.plugins import call_of_user
from shardy_py.base.records import dataclass
from shardy_py.passes.options import Option, OptionValue, PropagateOptions, options_of

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

MODULE, FUNCTION = "builtin.module", "func.func"
"""The ops that passes run on, in MLIR's syntax of pipelines; their classes would load xDSL."""

ANY = ""
"""The anchor of passes that run on any op."""


def ops_of(*names: str) -> frozenset[str]:
    """The ops of these names, which a pass needs."""
    return frozenset(names)


@dataclass(frozen=True, slots=True)
class PassRow:
    """One pass; the name of its function follows from its name.

    module: the one that holds it, below `shardy_py`. options_class: the dataclass of its options; None: it
    has
        none.
    anchor: the op that MLIR runs it on; our passes take whole modules, so it matters only for what
        `--pass-pipeline` accepts. Empty: any op.
    needs: ops without any of which, and without options, the pass changes nothing; empty: none are known.
    tracked: whether the pass adds and moves ops by `mlir.ir` alone (see `mlir/ir/op_index.py`).
    """

    name: str
    summary: str
    module: str
    options_class: type | None = None
    anchor: str = MODULE
    needs: frozenset[str] = frozenset()
    tracked: bool = False

    @property
    def options(self) -> tuple[Option, ...]:
        """The options, in the order of their declaration."""
        return options_of(self.options_class)

    @property
    def propagates(self) -> bool:
        """True if the pass propagates shardings through the program."""
        return self.options_class is not None and issubclass(self.options_class, PropagateOptions)

    @property
    def stem(self) -> str:
        """The name of the function: that of the pass without the dialect's prefix, as Python spells it."""
        prefix = "xla-" if self.module.startswith("xla.prepare.") else "sdy-"
        return self.name.removeprefix(prefix).replace("-", "_")

    @property
    def module_name(self) -> str:
        """The module that holds the pass."""
        return f"shardy_py.{self.module}"

    @property
    def class_name(self) -> str:
        """The name of the class of such a pass in MLIR and xDSL."""
        return "".join(word.capitalize() for word in self.stem.split("_")) + "Pass"

    def run(self, module: ModuleOp, options: object) -> None:
        """Loads the pass and runs it; `options`: an instance of `options_class`, ignored without one."""
        function = getattr(import_module(self.module_name), self.stem)
        function(module, options) if self.options_class else function(module)


@dataclass(frozen=True, slots=True)
class UserPassRow(PassRow):
    """A pass of a plugin: `function` changes a module in place, given the options if there are any."""

    function: Callable[..., object] = field(kw_only=True)

    @override
    def run(self, module: ModuleOp, options: object) -> None:
        """Runs the function; what it raises is an error of the pass. Raises `ShardyError`."""
        arguments = (module, options) if self.options_class else (module,)
        call_of_user(f"pass '{self.name}'", self.function, *arguments)


@dataclass(frozen=True, slots=True)
class PassCall:
    """One pass to run with the options given (by field name); the others keep their defaults."""

    row: PassRow
    options: tuple[tuple[str, OptionValue], ...] = ()

    def run(self, module: ModuleOp) -> None:
        """Runs the pass on `module`, in place."""
        options_class = self.row.options_class
        self.row.run(module, options_class(**dict(self.options)) if options_class else None)

    def __str__(self) -> str:
        """The pass as it is written within `builtin.module(...)`."""
        given = dict(self.options)
        values = (
            f"{o.name}={o.text(given[o.field_name])}" for o in self.row.options if o.field_name in given
        )
        text = f"{self.row.name}{{{' '.join(values)}}}" if given else self.row.name
        return f"{FUNCTION}({text})" if self.row.anchor == FUNCTION else text

    @staticmethod
    def of(row: PassRow, options: Mapping[str, OptionValue]) -> PassCall:
        """A call from a mapping of field names to values."""
        return PassCall(row, tuple(options.items()))

    def with_options(self, options: Mapping[str, OptionValue]) -> PassCall:
        """The call with some options changed."""
        return PassCall.of(self.row, {**dict(self.options), **options})
