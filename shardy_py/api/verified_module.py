"""A verified module: how it is taken, its values by name, its text.

Not here: reading, changing and running programs (`program.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from shardy_py.api.arguments import expect, expect_flags
from shardy_py.api.values import Value, Values
from shardy_py.base import releases
from shardy_py.base.errors import ShardyError, suggestion
from shardy_py.base.releases import Release
from shardy_py.base.source_files import SourceFiles, default_roots
from shardy_py.mlir.dialects import print_module
from shardy_py.mlir.ir import owning_op
from shardy_py.sharding import Mesh
from shardy_py.xla.prepare.explicit_axes import has_explicit_axes
from shardy_py.xla.prepare.taken import Taken, how_taken
from shardy_py.xla.prepare.written_by_jax import has_parameters_of_torch, is_written_by_jax

ValueKey = str | Value
"""A value, or its name, label or source location."""
_SHOWN = 8
"""Names of functions in `repr`."""
_OF_RESULTS = frozenset(
    ("memory", "time", "communication", "explain", "why_not", "what_if", "summary", "shardings", "explorer")
)
"""Members of results that programs lack."""


@releases.following
class VerifiedModule:
    """A module of StableHLO and sdy, verified, which does not change: its values, meshes and functions."""

    def __init__(
        self, module: ModuleOp, source_roots: Sequence[str] | None = None, taken: Taken | None = None
    ) -> None:
        """Wraps `module`, which must be valid and must not change any more.

        source_roots: as for `with_source_roots`; None: the working directory.
        taken: how it is taken, by those who know; None: by the rule for what is in it.
        """
        expect(module, ModuleOp, "a module of xDSL", "Program.parse takes text, Program.from_jax a function")
        self.module = module
        self.origin: Mapping[SSAValue, SSAValue] = {}
        roots = default_roots() if source_roots is None else source_roots
        self.sources = SourceFiles(tuple(roots))
        """The Python files that locations name, as far as they may be read."""
        self._taken = taken
        self.release: Release = releases.current() if taken is None else taken.release
        """The release of JAX whose Shardy propagates the program, and whose XLA partitions it."""

    @cached_property
    def is_by_jax(self) -> bool:
        """True if JAX wrote the program, however it is taken: advice is in JAX's words."""
        return is_written_by_jax(self.module)

    @cached_property
    def is_by_torch(self) -> bool:
        """True if arguments have the names of a module's parameters: advice is in PyTorch's words."""
        return not self.is_by_jax and has_parameters_of_torch(self.module)

    @cached_property
    def has_explicit_axes(self) -> bool:
        """True if all axes of the mesh are `AxisType.Explicit` in JAX, so that its ops have constraints."""
        return self.is_by_jax and has_explicit_axes(self.module)

    @property
    def taken(self) -> Taken:
        """The way the program is taken: `is_compiled`, as JAX compiles it, or as it is written; and why."""
        if self._taken is None:
            self._taken = how_taken(self.module)
        return self._taken

    @cached_property
    def values(self) -> Values:
        """All values, in program order."""
        return Values(self.module)

    @property
    def functions(self) -> tuple[str, ...]:
        """The names of the functions, without `@`."""
        return self.values.table.functions

    @property
    def meshes(self) -> Mapping[str, Mesh]:
        """The meshes by symbol."""
        return self.values.meshes

    def __getitem__(self, key: str) -> Value:
        """Returns the value of that name, label or source location."""
        return self.values[key]

    def __contains__(self, value: object) -> bool:
        """Returns whether it is a value of this program, or the name of one."""
        return value in self.values

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            """Raises `AttributeError`, which says where the reports are."""
            fact = f"'Program' object has no attribute '{name}'"
            if name in _OF_RESULTS:
                raise AttributeError(f"{fact}; propagate it first: propagate(program).{name}")
            hint = "" if name.startswith("_") else suggestion(name, dir(type(self)))
            raise AttributeError(f"{fact}{hint and f'; {hint}'}")

    def text(self, *, generic: bool = False, debuginfo: bool = False) -> str:
        """Returns the program as MLIR prints it; optionally in generic form, or with locations."""
        expect_flags(generic=generic, debuginfo=debuginfo)
        return print_module(self.module, generic=generic, debuginfo=debuginfo)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        functions, more = self.functions[:_SHOWN], len(self.functions) - _SHOWN
        others = f" and {more:,} more" if more > 0 else ""
        return f"<Program of {', '.join(f'@{name}' for name in functions) or 'no functions'}{others}>"

    def find(self, key: ValueKey) -> Value:
        """Returns the value of that name, or the value itself if it belongs to this program."""
        if not isinstance(key, Value):
            return self.values[key]
        if key not in self:
            raise ShardyError(f"{key!r} belongs to another program; look it up in this one by its name")
        return key

    def counterpart(self, value: Value, origin: Mapping[SSAValue, SSAValue]) -> Value:
        """Returns the value here for one of a program whose values `origin` maps to those here."""
        entry, table = value.entry, self.values.table
        if entry.value is None:
            return Value(table.find(f"@{entry.function}:{entry.name}"), self.meshes)
        return Value(table.by_value[id(origin[entry.value])], self.meshes)

    def copied(self, value: Value, origin: Mapping[SSAValue, SSAValue]) -> Value:
        """Returns what `counterpart` does, to edit it: unlike that, it equals no other value of this program.

        No entries of all values are made for it, as an edited copy may be asked for this value alone.
        """
        entry = value.entry
        if entry.value is None:
            ends = self.values.table.boundaries
            return Value(ends[entry.function, entry.role, entry.index], self.meshes)
        new = origin[entry.value]
        op = owning_op(new)
        assert op is not None  # of a value in a module
        return Value(replace(entry, op=op, value=new), self.meshes)
