"""All verifiers of all dialects, by name of op: the only list."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from typing import Any

from xdsl.ir import Operation

from shardy_py.dialects.verification.driver import PlacedCheck, Rules
from shardy_py.dialects.verification.faults import Faults
from shardy_py.dialects.verification.functions import (
    check_call,
    check_func,
    check_module,
    check_return,
    check_symbol_table,
)
from shardy_py.dialects.verification.scope import Scope

_REGISTERED: list[str] = []
"""Ops of dialects that users registered."""


def register_checks(names: Iterable[str]) -> None:
    """Registers ops to be verified by their classes and interfaces."""
    _REGISTERED.extend(names)
    rules.cache_clear()
    normal_form_rules.cache_clear()


@cache
def rules() -> Rules:
    """The verifiers; dialects are imported when they are first asked for."""
    from shardy_py.dialects import chlo, stablehlo
    from shardy_py.dialects.checks import checks_of
    from shardy_py.dialects.sdy import verify as sdy
    from shardy_py.dialects.verification.registered import check_registered

    rows = checks_of((stablehlo.OPS, chlo.OPS))
    return Rules(
        checks={**dict.fromkeys(_REGISTERED, _no_check), **sdy.CHECKS, **rows.signature},
        results={**dict.fromkeys(_REGISTERED, check_registered), **sdy.RESULTS, **rows.results},
        structure={
            "builtin.module": check_module,
            "func.func": check_func,
            "func.return": check_return,
            **sdy.STRUCTURE,
            **rows.structure,
        },
        uses={"func.call": check_call, **sdy.USES, **rows.symbols},
        attributes={"sdy": sdy.check_attribute},
        module=check_symbol_table,
    )


@cache
def normal_form_rules() -> Rules:
    """The verifiers, and those of what holds once manual axes are cleaned up."""
    from shardy_py.dialects.sdy import verify as sdy

    usual = rules()
    checks = {name: _both(usual.uses[name], check) for name, check in sdy.NORMAL_FORM.items()}
    return replace(usual, uses={**usual.uses, **checks})


def _no_check(op: Operation) -> Faults:
    """Nothing before the regions: with it, the driver also looks at the results of ops without regions."""
    return iter(())


def _both(first: PlacedCheck, second: PlacedCheck) -> PlacedCheck:
    def check(op: Any, scope: Scope) -> Faults:
        found = (*first(op, scope),)
        yield from found or second(op, scope)

    return check
