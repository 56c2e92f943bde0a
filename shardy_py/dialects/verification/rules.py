"""All verifiers of all dialects, by name of op: the only list."""

from __future__ import annotations

from functools import cache

from shardy_py.dialects.verification.driver import Rules
from shardy_py.dialects.verification.functions import (
    check_call,
    check_func,
    check_module,
    check_return,
    check_symbol_table,
)


@cache
def rules() -> Rules:
    """The verifiers; dialects are imported when they are first asked for."""
    from shardy_py.dialects.sdy import verify as sdy
    from shardy_py.dialects.stablehlo import verify as stablehlo

    return Rules(
        checks={**sdy.CHECKS, **stablehlo.CHECKS},
        results={**sdy.RESULTS, **stablehlo.RESULTS},
        structure={
            "builtin.module": check_module,
            "func.func": check_func,
            "func.return": check_return,
            **sdy.STRUCTURE,
            **stablehlo.STRUCTURE,
        },
        uses={"func.call": check_call, **sdy.USES, **stablehlo.USES},
        attributes={"sdy": sdy.check_attribute},
        module=check_symbol_table,
    )
