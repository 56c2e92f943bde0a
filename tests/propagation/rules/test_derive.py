"""Rules of chosen ops as text, and of ops that nobody wrote a policy for."""

from __future__ import annotations

import pytest

from shardy_py import Program, propagate
from shardy_py.base import releases
from shardy_py.base.errors import ShardyError
from shardy_py.indexing import IndexMap, dim, parse_map
from shardy_py.ops import TABLE, OpRecord, OpSpec, Reads, TensorType, reads_of, register
from shardy_py.ops.reads import coordinates, domain_of, shape_of
from shardy_py.propagation.rules import derive_from_maps, derive_rule, einsum_rule, unknown_warning
from shardy_py.sharding import ShardingRule
from tests.ops.examples import DOT, EXAMPLES, SCALAR, op, t


def rule_of(record: OpRecord, *, conservative: bool = False) -> str:
    return str(derive_rule(record, conservative_propagation=conservative))


EXPECTED = {
    "stablehlo.abs": "<([i, j])->([i, j]) {i=4, j=8}>",
    "stablehlo.select": "<([], [i, j], [i, j])->([i, j]) {i=4, j=8}>",
    "stablehlo.transpose": "<([j, i])->([i, j]) {i=8, j=4}>",
    "stablehlo.broadcast_in_dim": "<([j, k])->([i, j, l]) {i=3, j=8, k=1, l=5}>",
    "stablehlo.reshape": "<([ij, kl])->([i, jk, l]) {i=2, j=2, k=2, l=4}>",
    "stablehlo.slice": "<([i, j])->([i, j]) {i=4, j=8} permutation={i, j}>",
    "stablehlo.reverse": "<([i, j])->([i, j]) {i=4, j=8} permutation={j}>",
    "stablehlo.pad": "<([i, j], [])->([i, j]) {i=4, j=8} permutation={i, j}>",
    "stablehlo.concatenate": "<([i, j], [i, j])->([i, j]) {i=4, j=11} need_replication={j}>",
    "stablehlo.bitcast_convert": "<([i, j])->([i, j, k]) {i=4, j=8, k=4} need_replication={k}>",
    "stablehlo.dot_general": "<([i, j, l], [i, l, k])->([i, j, k]) {i=2, j=4, k=4, l=4} reduction={l}>",
    "stablehlo.reduce": "<([i, j], [])->([j]) {i=4, j=8} reduction={i}>",
    "stablehlo.sort": "<([i, j], [i, j])->([i, j], [i, j]) {i=4, j=8} need_replication={j}>",
    "stablehlo.cholesky": "<([i, j, k])->([i, j, k]) {i=2, j=4, k=4} need_replication={j, k}>",
    "stablehlo.triangular_solve": (
        "<([i, j, l], [i, j, k])->([i, l, k]) {i=2, j=4, k=4, l=4} need_replication={j, k, l}>"
    ),
    "stablehlo.fft": "<([i, j])->([i, j]) {i=4, j=8} need_replication={j} blocked_propagation={j}>",
    "stablehlo.reduce_window": "<([i, j], [])->([i, j]) {i=2, j=7} permutation={i, j}>",
    "stablehlo.select_and_scatter": (
        "<([j, k], [i, k], [])->([j, k]) {i=2, j=4, k=8} need_replication={i} permutation={j}>"
    ),
    "stablehlo.convolution": (
        "<([i, j, l], [k, l, m])->([i, j, m]) {i=2, j=7, k=3, l=3, m=5} reduction={l} permutation={j, k}>"
    ),
    "stablehlo.dynamic_slice": (
        "<([i, j], [], [])->([i, j]) {i=4, j=8} need_replication={j} blocked_propagation={j}>"
    ),
    "stablehlo.dynamic_update_slice": (
        "<([i, j], [i, k], [], [])->([i, j]) {i=4, j=8, k=3} permutation={j, k}>"
    ),
    "stablehlo.gather": (
        "<([j, k, l], [i, m])->([i, j, k, l]) {i=1806, j=33, k=76, l=70, m=2} need_replication={j, k, l, m}"
        " blocked_propagation={j, k, l}>"
    ),
    "stablehlo.scatter": (
        "<([k, j], [i, l], [i, j])->([k, j]) {i=5, j=8, k=4, l=1} reduction={i} need_replication={l}>"
    ),
    "stablehlo.all_gather": "<([j, i])->([k, i]) {i=8, j=4, k=8} need_replication={j, k}>",
    "stablehlo.all_to_all": "<([i, k])->([j, l]) {i=4, j=2, k=8, l=16} need_replication={i, j, k, l}>",
    "stablehlo.rng_bit_generator": (
        "<([i])->([i], [j, k]) {i=2, j=4, k=8} need_replication={i} blocked_propagation={i}>"
    ),
    "stablehlo.custom_call@Eigh": "<([i, j, k])->([i, j, k], [i, k]) {i=2, j=4, k=4}>",
    "stablehlo.custom_call@ApproxTopK": (
        "<([i, j], [i, j], [], [])->([i, k], [i, k]) {i=4, j=8, k=2} need_replication={k}"
        " blocked_propagation={k}>"
    ),
    "linalg.generic": "<([i, k], [k, j], [i, j])->([i, j]) {i=4, j=3, k=8} reduction={k}>",
    "sdy.sharding_constraint": "<([i, j])->([i, j]) {i=4, j=8}>",
}


@pytest.mark.parametrize("name", EXPECTED)
def test_rules_of_the_examples(name: str) -> None:
    assert rule_of(EXAMPLES[name]) == EXPECTED[name]


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.parametrize("conservative", [False, True])
def test_every_rule_maps_every_dimension_and_no_factor_twice_in_a_tensor(
    name: str, conservative: bool
) -> None:
    record = EXAMPLES[name]
    rule = derive_rule(record, conservative_propagation=conservative)
    if rule is None:
        return
    kinds = (*record.operands, *record.results)
    for mapping, kind in zip((*rule.operands, *rule.results), kinds, strict=True):
        assert len(mapping) == len(shape_of(kind))
        used = [factor for factors in mapping for factor in factors]
        assert all(mapping)
        assert len(set(used)) == len(used)
    assert {f for m in (*rule.operands, *rule.results) for d in m for f in d} == set(range(len(rule.factors)))


@pytest.mark.parametrize(
    "name", ["stablehlo.constant", "stablehlo.while", "chlo.square", "stablehlo.custom_call", "sdy.reshard"]
)
def test_ops_without_a_rule(name: str) -> None:
    assert derive_rule(EXAMPLES[name]) is None


@pytest.mark.parametrize("name", [name for name in EXAMPLES if TABLE[name].maps and EXAMPLES[name].results])
def test_maps_alone_give_a_rule_to_every_op(name: str) -> None:
    record = EXAMPLES[name]
    groups = reads_of(record)
    assert groups is not None
    assert derive_from_maps(groups, record) is not None


def test_statistics_of_a_batch_are_reductions() -> None:
    record = EXAMPLES["stablehlo.batch_norm_training"]
    groups = reads_of(record)
    assert groups is not None
    assert str(derive_from_maps(groups, record)) == (
        "<([i, j], [j], [j])->([i, j], [j], [j]) {i=4, j=8} need_replication={i}>"
    )


def test_conservative_rules() -> None:
    assert rule_of(EXAMPLES["stablehlo.pad"], conservative=True).endswith(
        "permutation={i, j} blocked_propagation={i, j}>"
    )
    assert (
        rule_of(EXAMPLES["stablehlo.concatenate"], conservative=True)
        == "<([i, j], [i, k])->([i, l]) {i=4, j=1, k=1, l=1}>"
    )


def test_what_stands_around_an_op_counts() -> None:
    joined = EXAMPLES["stablehlo.concatenate"]
    slices = op(
        joined.name, joined.operands, joined.results, dimension=1, **{"context.concatenates_slices": True}
    )
    assert rule_of(slices) == "<([i, j], [i, j])->([i, j]) {i=4, j=11} permutation={j}>"
    update = EXAMPLES["stablehlo.dynamic_update_slice"]
    placed = op(update.name, update.operands, update.results, **{"context.constant_indices": True})
    with releases.of("0.10"):
        assert rule_of(placed) == "<([i, j], [i, k], [], [])->([i, j]) {i=4, j=8, k=3}>"


def test_an_empty_reshape_has_no_rule() -> None:
    assert derive_rule(op("stablehlo.reshape", [t(4, 0)], [t(0, 8)])) is None


def test_dynamic_shapes_are_refused() -> None:
    kind = TensorType((None, 4))
    with pytest.raises(ShardyError) as caught:
        derive_rule(op("stablehlo.add", [kind, kind], [kind]))
    assert str(caught.value) == (
        "error: 'stablehlo.add' op operand 0 - expected a ranked tensor with a static shape. "
        "type: 'tensor<?x4xf32>'"
    )


def test_warnings_of_what_shardy_does_not_know() -> None:
    assert unknown_warning(EXAMPLES["stablehlo.add"]) is None
    assert unknown_warning(EXAMPLES["stablehlo.while"]) is None
    assert unknown_warning(EXAMPLES["chlo.square"]) == (
        "op 'chlo.square' is unknown to SDY sharding rule registry"
    )
    assert unknown_warning(EXAMPLES["stablehlo.custom_call"]) == (
        "custom call @nobody.knows is unknown to SDY sharding rule registry"
    )
    assert unknown_warning(op("stablehlo.custom_call", call_target_name="tpu_custom_call")) is None


def tiled(record: OpRecord) -> tuple[Reads, ...]:
    """Tiles of 4 along the last dimension, each scaled by a number of its own."""
    domain = domain_of(record)
    rows, columns = coordinates(shape_of(record.results[0]))
    return (Reads((0,), (domain.reading((rows, columns)), domain.reading((columns // 4,)))),)


def test_an_op_of_the_users_needs_but_its_maps() -> None:
    register(OpSpec("mine.scale_tiles", tiled))
    record = op("mine.scale_tiles", [t(3, 32), t(8)], [t(3, 32)])
    assert rule_of(record) == "<([i, jk], [j])->([i, jk]) {i=3, j=8, k=4}>"


LATE = """sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<8x4xf32> {
  %0 = stablehlo.custom_call @scale_late(%a) : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}
"""


def test_a_rule_that_is_registered_after_its_op_was_met() -> None:
    program = Program.parse(LATE)
    assert propagate(program).values.results()[0].sharding is None

    def rule(record: OpRecord) -> ShardingRule:
        return einsum_rule("i j -> i j", record.operands, record.results, is_custom=False)

    register(OpSpec("stablehlo.custom_call@scale_late", rule=rule))
    assert str(propagate(program).values.results()[0].sharding) == '<@mesh, [{"x"}, {}]>'


def maps_of(*texts: str) -> tuple[IndexMap, ...]:
    return tuple(map(parse_map, texts))


def derived(
    operands: list[TensorType], results: list[TensorType], *texts: str, **more: frozenset[int]
) -> str:
    return str(derive_from_maps((Reads((0,), maps_of(*texts), **more),), op("mine.op", operands, results)))


def test_the_relations_of_maps_to_factors() -> None:
    d0, s0 = "d0 in [0, 7]", "s0 in [0, 4]"
    assert derived([t(8)], [t(8)], f"(d0) -> (d0), domain: {d0}") == "<([i])->([i]) {i=8}>"
    assert derived([t(8, 5)], [t(8)], f"(d0)[s0] -> (d0, s0), domain: {d0}, {s0}") == (
        "<([i, j])->([i]) {i=8, j=5} reduction={j}>"
    )
    assert derived([t(10)], [t(8)], f"(d0) -> (d0 + 2), domain: {d0}") == (
        "<([i])->([i]) {i=10} permutation={i}>"
    )
    assert derived([t(12)], [t(8)], f"(d0)[s0] -> (d0 + s0), domain: {d0}, {s0}") == (
        "<([i])->([i]) {i=8} permutation={i}>"
    )
    assert derived([t(40)], [t(8)], f"(d0)[s0] -> (d0 * 5 + s0), domain: {d0}, {s0}") == (
        "<([ij])->([i]) {i=8, j=5} reduction={j}>"
    )
    assert derived([t(8, 5)], [t(8)], f"(d0)[s0] -> (d0, s0), domain: {d0}, {s0}", whole=frozenset({0})) == (
        "<([i, j])->([i]) {i=8, j=5} need_replication={j}>"
    )
    assert derived([t(8, 8)], [t(8)], f"(d0) -> (d0, d0), domain: {d0}") == (
        "<([i, j])->([i]) {i=8, j=8} need_replication={j}>"
    )
    assert derived([t(9)], [t(8)], f"(d0){{rt0}} -> (d0 + rt0), domain: {d0}, rt0 in [0, 1]") == (
        "<([i])->([i]) {i=9} need_replication={i} blocked_propagation={i}>"
    )


def test_digits_that_are_read_whole_need_replication() -> None:
    text = "(d0)[s0] -> (d0 * 5 + s0), domain: d0 in [0, 7], s0 in [0, 4]"
    assert derived([t(40)], [t(8)], text, whole=frozenset({0})) == (
        "<([ij])->([i]) {i=8, j=5} need_replication={j}>"
    )


def test_digits_cut_at_places_that_do_not_divide_each_other_are_opaque() -> None:
    texts = ("(d0) -> (d0 floordiv 4), domain: d0 in [0, 11]", "(d0) -> (d0 mod 6), domain: d0 in [0, 11]")
    assert derived([t(3), t(6)], [t(12)], *texts) == (
        "<([j], [k])->([i]) {i=12, j=3, k=6} need_replication={j, k}>"
    )
    assert derived([t(3), t(4)], [t(12)], texts[0], texts[1].replace("6", "4")) == (
        "<([i], [j])->([ij]) {i=3, j=4}>"
    )


def test_linalg_generic_with_a_window() -> None:
    maps = (IndexMap((dim(0) + dim(1),)), IndexMap((dim(1),)), IndexMap((dim(0),)))
    record = op("linalg.generic", [t(10), t(3), t(8)], [t(8)], indexing_maps=maps)
    assert rule_of(record) == "<([i], [j], [i])->([i]) {i=8, j=3} reduction={j} permutation={i}>"


def test_linalg_generic_needs_the_sizes_of_its_loops() -> None:
    record = op(
        "linalg.generic",
        [t(10), t(8)],
        [t(8)],
        indexing_maps=(IndexMap((dim(0) + dim(1),)), IndexMap((dim(0),))),
    )
    with pytest.raises(ShardyError) as caught:
        derive_rule(record)
    assert str(caught.value) == (
        "error: 'linalg.generic' op has attributes that do not match its types: "
        "no operand states the size of loop d1"
    )


@pytest.mark.parametrize(
    "record",
    [
        op("stablehlo.transpose", [t(4, 8)], [t(8, 4)], permutation=(1, 7)),
        op("stablehlo.transpose", [t(4, 8)], [t(8, 4)]),
        op("stablehlo.reduce", [t(4, 8), SCALAR], [t(8)], dimensions=()),
        op("stablehlo.convolution", [t(4, 8), t(8, 4)], [t(8, 4)], dimension_numbers={}),
        op("stablehlo.concatenate", [t(4, 8)], [t(4, 8)], dimension=5),
    ],
    ids=lambda record: record.name,
)
def test_ops_that_no_verifier_saw_give_an_error_not_a_crash(record: OpRecord) -> None:
    with pytest.raises(ShardyError, match="op has attributes that do not match its types"):
        derive_rule(record)


def test_a_reshape_to_another_size_does_not_hang() -> None:
    assert rule_of(op("stablehlo.reshape", [t(4)], [t(2)])) == "<([i])->([i]) {i=4} permutation={i}>"


@pytest.mark.parametrize(
    ("record", "factor_sizes"),
    [
        (op("stablehlo.add", [t(10**12, 10**12)] * 2, [t(10**12, 10**12)]), (10**12, 10**12)),
        (op("stablehlo.reshape", [t(10**12, 7)], [t(7, 10**12)]), (10**12, 10**12, 7)),
        (op("stablehlo.reshape", [t(*[2] * 100)], [t(2**100)]), (2,) * 100),
        (
            op("stablehlo.reduce", [t(*[3] * 300), SCALAR], [t()], dimensions=tuple(range(300))),
            (3,) * 300,
        ),
        (
            op("stablehlo.transpose", [t(*[1] * 500)], [t(*[1] * 500)], permutation=tuple(range(500))),
            (1,) * 500,
        ),
        (op("stablehlo.sort", [t(4, 8)] * 200, [t(4, 8)] * 200, dimension=0), (4, 8)),
        (
            op(
                "stablehlo.slice", [t(10**15)], [t(10)], start_indices=(7,), limit_indices=(17,), strides=(1,)
            ),
            (10**15,),
        ),
    ],
    ids=lambda value: value.name if isinstance(value, OpRecord) else "",
)
def test_the_cost_does_not_depend_on_sizes(record: OpRecord, factor_sizes: tuple[int, ...]) -> None:
    rule = derive_rule(record)
    assert rule is not None
    assert rule.factor_sizes == factor_sizes


def test_contractions_are_numbered_as_the_op_lists_them() -> None:
    numbers = {**DOT, "lhs_contracting_dimensions": (2, 1), "rhs_contracting_dimensions": (1, 2)}
    record = op("stablehlo.dot_general", [t(2, 3, 4), t(2, 4, 3)], [t(2)], dot_dimension_numbers=numbers)
    assert rule_of(record) == "<([i, k, j], [i, j, k])->([i]) {i=2, j=4, k=3} reduction={j, k}>"
