"""All verifiers of the dialect, as tables: what `dialects/verification` runs.

The checks are in `verify_axes.py`, `verify_sharding.py`, `verify_rule.py` (attributes), `verify_ops.py` and
`verify_collectives.py` (ops). Each opens with the list of what it checks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from xdsl.dialects.builtin import ArrayAttr
from xdsl.ir import Attribute, Operation

from shardy_py.dialects.sdy import verify_collectives, verify_ops
from shardy_py.dialects.sdy.attributes import (
    OpShardingRuleAttr,
    PropagationEdgesAttr,
    TensorShardingAttr,
    TensorShardingPerValueAttr,
)
from shardy_py.dialects.sdy.verify_edges import edge_faults
from shardy_py.dialects.sdy.verify_manual import check_normal_form
from shardy_py.dialects.sdy.verify_rule import rule_faults
from shardy_py.dialects.sdy.verify_sharding import prefixed, sharding_faults, sharding_list_faults
from shardy_py.dialects.verification.faults import Fault, Faults
from shardy_py.dialects.verification.memory import canonical
from shardy_py.dialects.verification.scope import Scope

CHECKS = verify_ops.CHECKS
RESULTS = verify_ops.RESULTS
STRUCTURE = {**verify_ops.STRUCTURE, **verify_collectives.STRUCTURE}
USES = {**verify_ops.USES, **verify_collectives.USES}


NORMAL_FORM = {"sdy.manual_computation": check_normal_form}
"""Checks of an op that hold once a program's manual axes are cleaned up."""


def check_attribute(op: Operation, name: str, attribute: Attribute, scope: Scope) -> Faults:
    """A discardable attribute of the dialect on an op: a sharding a result, a sharding rule, edges."""
    if name == "sdy.sharding":
        if not isinstance(attribute, TensorShardingPerValueAttr):
            yield Fault("should have a sharding attribute of type TensorShardingPerValueAttr")
            return
        types = [result.type for result in op.results]
        key = (canonical(attribute), *map(canonical, types))
        yield from _once(key, scope, lambda: sharding_list_faults(attribute.data, types, scope), "result ")
    elif name == "sdy.sharding_rule":
        if not isinstance(attribute, OpShardingRuleAttr):
            yield Fault(
                "should have a sharding rule attribute of type OpShardingRuleAttr for attr named "
                "'sdy.sharding_rule'"
            )
            return
        yield from rule_faults(attribute.data, op)
    elif name == "sdy.propagation_edges":
        if not isinstance(attribute, PropagationEdgesAttr):
            yield Fault(
                "should have a propagation edges attribute of type PropagationEdgesAttr for attr named "
                "'sdy.propagation_edges'"
            )
            return
        yield from edge_faults(attribute.data, op, scope)
    elif name in _EDGE_LISTS and not (
        isinstance(attribute, ArrayAttr) and all(map(_is_edges, cast("ArrayAttr[Attribute]", attribute).data))
    ):
        yield Fault(
            "should have a propagation edges attribute of type ArrayAttr<PropagationEdgesAttr> for attr "
            "named 'sdy.result_propagation_edges' or 'sdy.block_arg_propagation_edges'"
        )


_EDGE_LISTS = ("sdy.result_propagation_edges", "sdy.block_arg_propagation_edges")


def _is_edges(attribute: Attribute) -> bool:
    return isinstance(attribute, PropagationEdgesAttr)


def check_value_attribute(
    name: str, attribute: Attribute, type_: Attribute, scope: Scope, place: str
) -> Faults:
    """An attribute of the dialect on an argument or a result of a function: a sharding."""
    if name == "sdy.sharding":
        if not isinstance(attribute, TensorShardingAttr):
            yield Fault(f"{place}should have a sharding attribute of type TensorShardingAttr")
            return
        key = (canonical(attribute), canonical(type_))
        yield from _once(key, scope, lambda: sharding_faults(attribute.data, type_, scope), place)


def _once(key: tuple[int, ...], scope: Scope, find: Callable[[], Faults], place: str) -> Faults:
    """The faults that `find` finds, looked for again only where there are some."""
    if key in scope.known:
        return
    found = (*prefixed(place, find()),)
    yield from found
    if not found:
        scope.known[key] = True
