"""The passes of Shardy and what runs passes: the list of all passes, pipelines, options, the runner.

    table/ -> pipelines.py -> runner.py -> partitioned.py

Shardy's own are here by phase (`import_/`, `propagate/`, `export/`, `rewrites/` for canonicalization), its
partitioner's in `localize/`, XLA's in `xla/prepare/`, those of XLA's dumps in `xla/gspmd/passes/`. Importing
this package loads no pass and no xDSL: `PassRow.run` does.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import MISSING
from typing import Any, cast

from shardy_py.base.errors import ShardyError
from shardy_py.passes.options import OptionValue, options_of
from shardy_py.passes.registration import PassCall, PassRow, UserPassRow
from shardy_py.passes.table import PASSES

__all__ = ["PASSES", "PassCall", "PassRow", "known_passes", "pass_by_name", "pass_call", "register_pass"]

_BY_NAME = {row.name: row for row in PASSES}


def pass_call(name: str, **options: OptionValue) -> PassCall:
    """A call of the pass of that name, which must exist, with options by field name.

    >>> str(pass_call("sdy-insert-explicit-reshards", enable_full_version=True))
    'func.func(sdy-insert-explicit-reshards{enable-full-version=true})'
    """
    return PassCall.of(_BY_NAME[name], options)


def pass_by_name(name: str) -> PassRow | None:
    """Returns the row of a pass, None if there is no pass of that name."""
    return _BY_NAME.get(name)


def known_passes() -> tuple[PassRow, ...]:
    """Returns the passes of this package, then the registered ones."""
    return tuple(_BY_NAME.values())


def register_pass(
    name: str, function: Callable[..., object], summary: str = "", options: type | None = None
) -> None:
    """Registers a pass of users: `sdy-opt --name` runs `function(module)`, which changes the module in place.

    function: or a class of xDSL's `ModulePass` of that name, whose fields are the options.
    summary: for `--help`; by default the first line of the function's docstring.
    options: a dataclass of fields with defaults of type bool, int, str or tuple; `function(module, options)`.

    Raises:
        ShardyError: the name is taken or not a name of a flag, or a field has no such default.
    """
    from shardy_py.passes.pipelines import PIPELINES

    if not re.fullmatch(r"[a-zA-Z][\w-]*", name):
        raise ShardyError.unexpected("pass", expected="a name of letters, digits and dashes", got=f"'{name}'")
    if name in _BY_NAME or any(name == row.name for row in PIPELINES):
        raise ShardyError(f"there is a pass or pipeline '{name}' already: register each once")
    lines = (function.__doc__ or "").strip().splitlines()
    run: Callable[..., object] = function
    if isinstance(function, type):  # of xDSL, which is not loaded here
        if getattr(function, "name", None) != name or not hasattr(function, "apply"):
            raise ShardyError.unexpected(
                f"pass '{name}'", expected="a function, or a ModulePass of that name", got=function.__name__
            )
        options, run = function, _apply
    for option in options_of(options):
        default = cast("object", option.default)
        if not isinstance(default, bool | int | str | tuple):
            raise ShardyError.unexpected(
                f"option '{option.name}' of pass '{name}'",
                expected="a default of type bool, int, str or tuple",
                got="none" if default is MISSING else f"{default!r}",
            )
    shown = summary or (lines[0] if lines else "")
    _BY_NAME[name] = UserPassRow(name, shown, "", options, function=run)


def _apply(module: Any, xdsl_pass: Any) -> None:
    """Runs a pass of xDSL."""
    from shardy_py.mlir.dialects.registry import xdsl_context

    xdsl_pass.apply(xdsl_context(), module)
