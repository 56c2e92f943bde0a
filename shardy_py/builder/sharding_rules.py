"""User-defined rules of ops that have no rule, or another one: custom calls, ops of users.

    give_rule(op, "b i, i -> b i")
    give_rule(op, partial(einsum_rule, "b i, i -> b", reduction=["i"]))

Not here: rules that are registered for all ops of a name (`shardy_py.ops.register`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from xdsl.ir import Operation

from shardy_py.builder.broadcasting import static_shape
from shardy_py.dialects.sdy import OpShardingRuleAttr
from shardy_py.errors import ShardyError
from shardy_py.rules import einsum_rule
from shardy_py.sharding import ShardingRule

Rule = ShardingRule | Callable[..., ShardingRule] | str | None
"""A rule; its notation, as `einsum_rule` reads it; a function from the shapes of operands and of results to
it, where factors are more than passed through; None: the op's own, if it has one."""


def give_rule(op: Operation, rule: Rule) -> None:
    """Have shardings pass through `op` so. Raises `ShardyError` for a rule that does not fit its shapes."""
    made: Any = partial(einsum_rule, rule) if isinstance(rule, str) else rule
    if callable(made):
        made = made(*([static_shape(value) for value in side] for side in (op.operands, op.results)))
    if not isinstance(made, ShardingRule | None):
        raise ShardyError.unexpected("", expected="a sharding rule, as 'i j, j k -> i k'", got=f"{made!r}")
    if made is not None:
        op.attributes["sdy.sharding_rule"] = OpShardingRuleAttr(made)
