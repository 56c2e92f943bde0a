"""All verifiers of the dialect, as tables: what `dialects/verification` runs.

The checks are in `verify_values.py` (plain values), `verify_sharding.py`, `verify_rule.py` (attributes),
`verify_ops.py`, `verify_ops.py` and `verify_collectives.py` (ops). Each opens with the list of its rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from xdsl.ir import Attribute, Operation

from shardy_py.mlir.dialects.faults import Fault, prefixed
from shardy_py.mlir.dialects.sdy import verify_collectives, verify_ops
from shardy_py.mlir.dialects.sdy.attributes import (
    OpShardingRuleAttr,
    PropagationEdgesAttr,
    TensorShardingAttr,
    TensorShardingPerValueAttr,
)
from shardy_py.mlir.dialects.sdy.verify_rule import check_edges, check_rule
from shardy_py.mlir.dialects.sdy.verify_sharding import check_sharding, check_shardings
from shardy_py.mlir.dialects.verification.scope import Scope
from shardy_py.mlir.numbering import number_of
from shardy_py.mlir.text.builtin_attributes import is_array

CHECKS = verify_ops.CHECKS
RESULTS = verify_ops.RESULTS
STRUCTURE = {**verify_ops.STRUCTURE, **verify_collectives.STRUCTURE}
USES = {**verify_ops.USES, **verify_collectives.USES}

_EDGE_LISTS = ("sdy.result_propagation_edges", "sdy.block_arg_propagation_edges")


def check_attribute(op: Operation, name: str, attribute: Attribute, scope: Scope) -> None:
    """A discardable attribute of the dialect on an op: a sharding a result, a sharding rule, edges."""
    if name == "sdy.sharding":
        if not isinstance(attribute, TensorShardingPerValueAttr):
            raise Fault("should have a sharding attribute of type TensorShardingPerValueAttr")
        types = [result.type for result in op.results]
        subject = (attribute, *types)
        _check_once(scope, "result ", subject, lambda: check_shardings(attribute.data, types, scope))
    elif name == "sdy.sharding_rule":
        if not isinstance(attribute, OpShardingRuleAttr):
            raise _wrong_class("a sharding rule", "OpShardingRuleAttr", f"'{name}'")
        check_rule(attribute.data, op)
    elif name == "sdy.propagation_edges":
        if not isinstance(attribute, PropagationEdgesAttr):
            raise _wrong_class("a propagation edges", "PropagationEdgesAttr", f"'{name}'")
        check_edges(attribute.data, op, scope)
    elif name in _EDGE_LISTS:
        parts = attribute.data if is_array(attribute) else (None,)
        if not all(isinstance(part, PropagationEdgesAttr) for part in parts):
            names = " or ".join(f"'{edges}'" for edges in _EDGE_LISTS)
            raise _wrong_class("a propagation edges", "ArrayAttr<PropagationEdgesAttr>", names)


def _wrong_class(what: str, expected: str, names: str) -> Fault:
    return Fault(f"should have {what} attribute of type {expected} for attr named {names}")


def check_value_attribute(
    name: str, attribute: Attribute, type_: Attribute, scope: Scope, place: str
) -> None:
    """An attribute of the dialect on an argument or a result of a function: a sharding."""
    if name == "sdy.sharding":
        if not isinstance(attribute, TensorShardingAttr):
            raise Fault(f"{place}should have a sharding attribute of type TensorShardingAttr")
        subject = (attribute, type_)
        _check_once(scope, place, subject, lambda: check_sharding(attribute.data, type_, scope))


def _check_once(scope: Scope, place: str, subject: Iterable[Attribute], check: Callable[[], None]) -> None:
    """Calls `check` unless it has accepted an equal subject in the scope before."""
    key = (*map(number_of, subject),)
    if key not in scope.known:
        with prefixed(place):
            check()
        scope.known[key] = True
