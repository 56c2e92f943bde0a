"""The passes of Shardy and what runs passes: the list of all passes, pipelines, options, the runner.

    table.py -> pipelines.py -> runner.py

Shardy's own are here by phase (`import_/`, `propagate/`, `export/`, `rewrites/` for canonicalization), its
partitioner's in `localize/`, XLA's in `xla/prepare/`, those of XLA's dumps in `xla/gspmd/passes/`. Importing
this package loads no pass and no xDSL: `PassRow.run` does.
"""

from __future__ import annotations

from shardy_py.passes.options import OptionValue
from shardy_py.passes.registration import PassCall, PassRow
from shardy_py.passes.table import PASSES

__all__ = ["PASSES", "PassCall", "PassRow", "pass_by_name", "pass_call"]

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
