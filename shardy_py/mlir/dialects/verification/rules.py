"""All verifiers of all dialects, by name of op: the only list; the verifier of ops of registered dialects."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from xdsl.dialects.builtin import ShapedType
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import VerifyException

from shardy_py.mlir.dialects.faults import Fault
from shardy_py.mlir.dialects.sdy.interfaces import ShardableDataFlowOpInterface, manual_axes
from shardy_py.mlir.dialects.traits import data_flow, required_data_flow
from shardy_py.mlir.dialects.verification import functions
from shardy_py.mlir.dialects.verification.driver import Rules
from shardy_py.mlir.text.attribute_writer import attribute_text

_REGISTERED: list[str] = []
"""Ops of dialects that users registered."""

_UNFIT = "lacks an operand, a result, a block argument or a terminator that its data-flow edges refer to"


def register_checks(names: Iterable[str]) -> None:
    """Registers ops to be verified by their classes and interfaces."""
    _REGISTERED.extend(names)
    rules.cache_clear()


@cache
def rules() -> Rules:
    """The verifiers; dialects are imported when they are first asked for."""
    from shardy_py.mlir.dialects import check, chlo, interpreter, stablehlo
    from shardy_py.mlir.dialects.checks import checks_of
    from shardy_py.mlir.dialects.sdy import verify as sdy

    rows = checks_of((stablehlo.OPS, chlo.OPS, check.OPS, interpreter.OPS))
    return Rules(
        checks={**sdy.CHECKS, **rows.signature},
        results={**dict.fromkeys(_REGISTERED, _check_registered), **sdy.RESULTS, **rows.results},
        structure={
            "builtin.module": functions.check_module,
            "func.func": functions.check_func,
            "func.return": functions.check_return,
            **sdy.STRUCTURE,
            **rows.structure,
        },
        uses={"func.call": functions.check_call, **sdy.USES, **rows.symbols},
        attributes={"sdy": sdy.check_attribute},
        module=functions.check_symbol_table,
    )


def _check_registered(op: Operation) -> None:
    """An op of a registered dialect whose regions are sound, beside its IRDL definition:

    - `verify_` of the class and of its traits, as xDSL runs them
    - data-flow edges join existing values of equal rank (of equal shape where no axes are manual)
    """
    try:
        for trait in op.traits:
            trait.verify(op)
        op.verify_()
    except VerifyException as error:
        raise Fault(str(error)) from None
    if data_flow(op) is not None:
        _check_data_flow(op, required_data_flow(op))


def _check_data_flow(op: Operation, flow: ShardableDataFlowOpInterface) -> None:
    edges: list[tuple[Attribute, Attribute]] = []
    try:
        for owner in (*flow.block_argument_edge_owners(op), *flow.op_result_edge_owners(op)):
            sources = [user.operands[index] for user, index in flow.edge_sources(op, owner)]
            edges += [(v.type, owner.type) for v in (*sources, *flow.non_edge_owner_targets(op, owner))]
    except (AssertionError, IndexError):
        raise Fault(_UNFIT) from None
    see = _rank if manual_axes(op) else _shape
    for type_, expected in edges:
        if see(type_) != see(expected):
            types = f"'{attribute_text(type_)}' and '{attribute_text(expected)}'"
            raise Fault(f"has a data-flow edge between values of different shapes: {types}")


def _shape(type_: Attribute) -> tuple[int, ...] | None:
    return type_.get_shape() if isinstance(type_, ShapedType) else None


def _rank(type_: Attribute) -> int | None:
    return type_.get_num_dims() if isinstance(type_, ShapedType) else None
