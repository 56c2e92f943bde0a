"""Ops whose parameters are operands, and ops in index notation: their maps for static types.

They have no sharding rule. With a static result type, a dynamic reshape is a reshape that also reads its
operand of sizes.

>>> from shardy_py.ops.record import OpRecord, TensorType
>>> f = TensorType
>>> config = {"einsum_config": "ij,jk->ik"}
>>> record = OpRecord("stablehlo.einsum", (f((4, 8)), f((8, 2))), (f((4, 2)),), config)
>>> [str(m).splitlines()[0] for m in einsum(record)[0].operands]
['(d0, d1)[s0] -> (d0, s0),', '(d0, d1)[s0] -> (s0, d1),']
"""

from __future__ import annotations

from shardy_py.indexing import Expr, IndexMap, Interval, dim, range_var, runtime
from shardy_py.ops.movement import broadcast_in_dim, reshape
from shardy_py.ops.reads import Domain, Maps, Reads, coordinates, domain_of, extents, integer, shape_of
from shardy_py.ops.record import OpRecord
from shardy_py.ops.spec import OpSpec


def _with_sizes(static: Maps) -> Maps:
    """The maps of the static op, with the last operand, a vector of sizes, read whole."""

    def maps(record: OpRecord) -> tuple[Reads, ...]:
        *data, sizes = record.operands
        reads = static(OpRecord(record.name, tuple(data), record.results, record.attributes))
        return (Reads((0,), (*reads[0].operands, _whole(record, shape_of(sizes)))),)

    return maps


def _whole(record: OpRecord, shape: tuple[int, ...]) -> IndexMap:
    return domain_of(record, 0, shape).reading(tuple(map(range_var, range(len(shape)))))


def dynamic_iota(record: OpRecord) -> tuple[Reads, ...]:
    """Only the sizes are read."""
    return (Reads((0,), (_whole(record, shape_of(record.operands[0])),)),)


def einsum(record: OpRecord) -> tuple[Reads, ...]:
    """The letters of the result are its coordinates, the others are summed over."""
    inputs, output = record.attributes["einsum_config"].replace(" ", "").split("->")
    letters: dict[str, Expr] = {letter: dim(i) for i, letter in enumerate(output)}
    sizes: list[int] = []
    terms = inputs.split(",")
    for term, operand in zip(terms, record.operands, strict=True):
        if not term.isalpha() and term:
            raise ValueError(f"einsum with {term!r}: letters expected")
        for letter, size in zip(term, shape_of(operand), strict=True):
            if letter not in letters:
                letters[letter] = range_var(len(sizes))
                sizes.append(size)
    domain = domain_of(record, 0, tuple(sizes))
    return (Reads((0,), tuple(domain.reading(tuple(letters[x] for x in term)) for term in terms)),)


def torch_index_select(record: OpRecord) -> tuple[Reads, ...]:
    """Along `dim`, the operand is read at the index at the result's coordinates."""
    shape, index = shape_of(record.operands[0]), shape_of(record.operands[1])
    along, batches = integer(record.attributes, "dim"), integer(record.attributes, "batch_dims")
    looked_up = len(index) - batches
    result = coordinates(shape_of(record.results[0]))
    domain = Domain(extents(shape_of(record.results[0])), (), (Interval(0, shape[along] - 1),))
    point = (*result[:along], runtime(0), *result[along + looked_up :])
    where = (*result[:batches], *result[along : along + looked_up])
    return (Reads((0,), (domain.reading(point), domain.reading(where))),)


ROWS = (
    OpSpec("stablehlo.dynamic_broadcast_in_dim", closer=_with_sizes(broadcast_in_dim)),
    OpSpec("stablehlo.dynamic_iota", closer=dynamic_iota),
    OpSpec("stablehlo.dynamic_reshape", closer=_with_sizes(reshape)),
    OpSpec("stablehlo.einsum", closer=einsum),
    OpSpec("stablehlo.unary_einsum", closer=einsum),
    OpSpec("stablehlo.torch_index_select", closer=torch_index_select),
    *(OpSpec(f"stablehlo.{name}") for name in ("dynamic_gather", "dynamic_pad", "real_dynamic_slice")),
)
