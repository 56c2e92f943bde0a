"""Transposes that XLA's backend for the host folds into each other and into products.

A product reads its operands through transposes of rows and columns, whoever else reads those. The transpose
of a product that nothing else reads is the product of the operands in the other order. Transposes that move
batch dimensions, or dimensions that are put together, stay. Source: openxla/xla,
xla/hlo/transforms/simplifiers/algebraic_simplifier.cc (HandleTranspose), xla/service/transpose_folding.cc.

>>> from shardy_py.ops import OpRecord
>>> turn = PlannedOp(OpRecord("stablehlo.transpose", (), (), {"permutation": (1, 0)}), ("x",), ("t",), ())
>>> roles = [f"{side}_{role}" for side in ("lhs", "rhs") for role in ("batching", "contracting")]
>>> plain = {f"{role}_dimensions": () for role in roles}
>>> record = OpRecord("stablehlo.dot_general", (), (), {"dot_dimension_numbers": plain})
>>> product = PlannedOp(record, ("t", "y"), ("z",), ())
>>> ops = [HostOp("transpose", ("x",), ("t",), computed=turn)]
>>> ops += [HostOp("dot_general", ("t", "y"), ("z",), computed=product)]
>>> [op.reads for op in without_transposes(ops, ("z",), {})]
[('x',), ('x', 'y')]
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from shardy_py.ops.dimensions import DotDimensions
from shardy_py.xla.buffers.host_program import HostOp
from shardy_py.xla.spmd.program import Name, PlannedOp

_Order = tuple[int, ...]


def without_transposes(
    ops: Sequence[HostOp], returned: Sequence[Name], alias: dict[Name, Name]
) -> list[HostOp]:
    """Returns ops that read what is not transposed where they can; what nothing reads any more is left.

    returned: the values that the block returns. alias: receives values that are others again.
    """
    users: Counter[Name] | None = None
    orders: dict[Name, tuple[Name, _Order]] = {}
    products: dict[Name, HostOp] = {}
    found: list[HostOp] = []
    renamed = alias.keys()
    for each in ops:
        op = each if renamed.isdisjoint(each.reads) else each.renamed(alias)
        if op.kind == "dot_general":
            products[op.makes[0]] = op
        elif op.kind == "transpose" and op.computed is not None:
            source, order = _composed(op.reads[0], op.computed, orders)
            if order == tuple(range(len(order))):
                alias[op.makes[0]] = source
                continue
            product = products.get(source)
            if product is not None and users is None:
                users = _users(ops, returned)
            if product is not None and users and users[source] == 1 and _is_swap(product, order):
                op = product._replace(reads=product.reads[::-1], makes=op.makes)
            else:
                orders[op.makes[0]] = source, order
                op = op._replace(reads=(source,))
        found.append(op)
    return (
        [_untransposed(op, orders) if op.kind == "dot_general" else op for op in found] if orders else found
    )


def _users(ops: Sequence[HostOp], returned: Sequence[Name]) -> Counter[Name]:
    """The ops that read each product, and the results that it is."""
    products = {op.makes[0] for op in ops if op.kind == "dot_general"}
    readers = [op.reads for op in ops if not products.isdisjoint(op.reads)]
    users = Counter(name for reads in readers for name in dict.fromkeys(reads))
    users.update(returned)
    return users


def _composed(source: Name, step: PlannedOp, orders: dict[Name, tuple[Name, _Order]]) -> tuple[Name, _Order]:
    """The value that a transpose reads in the end, and the order of its dimensions."""
    order = tuple(map(int, step.record.attributes["permutation"]))
    if source not in orders:
        return source, order
    source, given = orders[source]
    return source, tuple(given[dimension] for dimension in order)


def _batches(op: HostOp) -> int:
    """The number of batch dimensions of a product, which are first."""
    return 0 if op.computed is None else len(DotDimensions.of(op.computed.record.attributes).batching[0])


def _is_swap(product: HostOp, order: _Order) -> bool:
    """True if an order has the rows and columns of a product exchanged, and nothing else."""
    first = tuple(range(_batches(product)))
    return order == (*first, len(first) + 1, len(first))


def _untransposed(op: HostOp, orders: dict[Name, tuple[Name, _Order]]) -> HostOp:
    """The product with the operands that it reads through transposes."""
    count = _batches(op)
    reads: list[Name] = []
    for name in op.reads:
        source, order = orders.get(name, (name, ()))
        is_folded = len(order) == count + 2 and order[:count] == tuple(range(count))
        reads.append(source if is_folded else name)
    return op._replace(reads=tuple(reads))
