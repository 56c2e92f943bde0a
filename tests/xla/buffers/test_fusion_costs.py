"""Which fused values are stored, of steps made by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hypothesis import given
from hypothesis import strategies as st

from shardy_py.ops import TensorType
from shardy_py.xla.buffers.fused_steps import FusedSteps, made_with
from shardy_py.xla.buffers.fusion_costs import fused_by_bytes, saving, stored_by_bytes
from shardy_py.xla.buffers.tpu.records import Records, step_of
from shardy_py.xla.spmd.program import Name

_ROW = TensorType((8, 128), "f32")
_BITS = TensorType((8, 128), "i1")


def _steps(*lines: tuple[str, str, str], fused: Sequence[Name]) -> FusedSteps:
    """Steps of (kind, what it reads, what it makes), each value a letter."""
    records = Records()
    steps = [
        step_of(
            records.of(f"stablehlo.{kind}", (), (_BITS if kind == "compare" else _ROW,)),
            *((*reads,), (made,), None),
        )
        for kind, reads, made in lines
    ]
    users: dict[Name, list[int]] = {}
    for number, step in enumerate(steps):
        for name in dict.fromkeys(step.operands):
            users.setdefault(name, []).append(number)
    return FusedSteps(steps, [step.operands for step in steps], users, fused)


def _stored(given: FusedSteps, sizes: Mapping[Name, int], rounded: str = "") -> list[Name]:
    """The values that are stored. rounded: those of two bytes."""
    elements = _elements(given, sizes)
    widths = dict.fromkeys(elements, 4) | dict.fromkeys(rounded, 2)
    bits = {step.results[0]: 1 for step in given.steps if step.record.results[0] == _BITS}
    return [*stored_by_bytes(given, elements.__getitem__, widths | bits)]


def _elements(given: FusedSteps, sizes: Mapping[Name, int]) -> dict[Name, int]:
    return {name: sizes.get(name, 1024) for step in given.steps for name in (*step.operands, *step.results)}


def test_the_value_that_saves_most_is_stored_first() -> None:
    """Once a sum of four is stored, what is made of it reads one value, so that it is computed again."""
    given = _steps(
        *(("add", "xy", "a"), ("add", "az", "b"), ("add", "bw", "c"), ("negate", "c", "d")),
        *(("dot_general", "d", "p"), ("dot_general", "d", "q"), ("dot_general", "d", "r")),
        fused="abcd",
    )
    assert _stored(given, {}) == ["c"]


def test_slices_read_what_they_make() -> None:
    """Two slices of one large value count as much as two values of their size."""
    lines = ("slice", "x", "a"), ("slice", "y", "b"), ("add", "ab", "c")
    readers = [("dot_general", "c", made) for made in "pqrs"]
    given = _steps(*lines, *readers[:3], fused="abc")
    assert _stored(given, {"x": 1 << 20, "y": 1 << 20}) == []
    assert _stored(_steps(*lines, *readers, fused="abc"), {}) == ["c"]


def test_single_elements_do_not_count() -> None:
    given = _steps(("add", "xs", "a"), *(("dot_general", "a", made) for made in "pqrstu"), fused="a")
    assert _stored(given, {"s": 1}) == []


def test_a_division_behind_a_rounded_value_counts_once() -> None:
    """The chances of attention in bf16 are stored for two products, and not computed in both."""

    def made(kind: str, readers: str, rounded: str = "a") -> list[Name]:
        products = [("dot_general", "a", reader) for reader in readers]
        return _stored(_steps((kind, "xs", "a"), *products, fused="a"), {"s": 8}, rounded)

    assert made("divide", "pq") == ["a"]
    assert made("multiply", "pq") == []
    assert made("divide", "pq", rounded="") == []
    assert made("divide", "pqrstu", rounded="") == []


def test_to_divide_by_one_element_is_to_multiply() -> None:
    products = ("dot_general", "a", "p"), ("dot_general", "a", "q")
    lines = ("broadcast_in_dim", "e", "s"), ("divide", "xs", "a")
    assert _stored(_steps(*lines, *products, fused="as"), {"e": 1}, "a") == []
    assert _stored(_steps(*lines, *products, fused="as"), {"e": 8}, "a") == ["a"]


_GRADIENT = ("dot_general", "vw", "t"), ("multiply", "te", "u"), ("reduce", "u", "s")
"""A product in bf16, what is made of it and of scores `e`, and its sum."""


def test_what_is_made_of_a_product_is_stored_instead_of_it_for_several_products() -> None:
    """One product computes it from the result of the other in bf16."""
    one = _steps(*_GRADIENT, ("dot_general", "u", "p"), fused="u")
    two = _steps(*_GRADIENT, ("dot_general", "u", "p"), ("dot_general", "u", "q"), fused="u")
    assert (_stored(one, {}, "t"), _stored(two, {}, "t")) == ([], ["u"])
    assert made_with(two, ["u"], _elements(two, {}).__getitem__) == {"t"}
    assert made_with(one, [], _elements(one, {}).__getitem__) == set()


def test_what_products_read_in_any_case_is_not_saved() -> None:
    """The scores, for what is compared with them: neither is then stored."""
    compared = ("compare", "e", "c"), ("select", "cu", "a")
    products = ("dot_general", "a", "p"), ("dot_general", "a", "q")
    assert _stored(_steps(*_GRADIENT, *compared, *products, fused="uca"), {}, "t") == []
    counted = _steps(*_GRADIENT, *compared, ("reduce", "c", "n"), *products, fused="uca")
    assert _stored(counted, {}, "t") == ["c", "u"]


def test_the_order_of_a_product_is_stored_for_reductions() -> None:
    """A reduction is then made with it."""
    lines = ("dot_general", "vw", "t"), ("transpose", "t", "u"), ("dot_general", "u", "p")
    assert _stored(_steps(*lines, ("reduce", "u", "s"), fused="u"), {}) == ["u"]
    assert _stored(_steps(*lines, ("dot_general", "u", "q"), fused="u"), {}) == []


@given(st.integers(1, 6), st.integers(1, 6))
def test_a_sum_is_stored_if_that_saves_anything(summands: int, readers: int) -> None:
    """By bytes and by elements alike, if only one value is fused."""
    names = [f"x{i}" for i in range(summands)]
    records = Records()
    record = records.of("stablehlo.add", (), (_ROW,))
    steps = [step_of(record, (*names,), ("sum",), None)]
    steps += [step_of(record, ("sum",), (f"r{i}",), None) for i in range(readers)]
    users: dict[Name, Sequence[int]] = {"sum": [*range(1, readers + 1)]}
    given_ = FusedSteps(steps, [step.operands for step in steps], users, {"sum"})
    is_stored = saving(readers, behind=summands, own=1) > 0
    assert (_stored(given_, {}) == ["sum"]) is is_stored
    assert (fused_by_bytes(given_, dict.fromkeys((*names, "sum"), 4096)) == set()) is is_stored


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(1, 4)), min_size=9, max_size=24), st.data())
def test_what_is_stored_first_changes_what_the_others_save(
    pairs: Sequence[tuple[int, int]], data: st.DataObject
) -> None:
    """As if all were computed anew after each value that is stored."""
    made = [f"s{number}" for number in range(len(pairs))]
    values = [*"abcd", *made]
    lines = [
        ("add", (values[4 + n - one], values[4 + n - other]), made[n]) for n, (one, other) in enumerate(pairs)
    ]
    fused = {*made} - data.draw(st.sets(st.sampled_from(made)))
    sizes: dict[Name, int] = {
        name: data.draw(st.sampled_from((1, 64, 256, 1024)), label=name) for name in values
    }
    records = Records()
    record = records.of("stablehlo.add", (), (_ROW,))
    steps = [step_of(record, reads, (name,), None) for _, reads, name in lines]
    users: dict[Name, list[int]] = {}
    for number, step in enumerate(steps):
        for name in dict.fromkeys(step.operands):
            users.setdefault(name, []).append(number)
    given_ = FusedSteps(steps, [step.operands for step in steps], users, fused)
    assert {*_stored(given_, sizes)} == _stored_anew(given_, sizes)


def _stored_anew(given: FusedSteps, sizes: Mapping[Name, int]) -> set[Name]:
    stored = set[Name]()
    while True:
        behind: dict[Name, set[Name]] = {}
        for step in given.steps:
            sets = [behind.get(name, {name}) for name in step.operands]
            if step.results[0] in given.fused and step.results[0] not in stored:
                behind[step.results[0]] = set[Name]().union(*sets)
        ahead: dict[Name, set[Name]] = {}
        for step in reversed(given.steps):
            (name,) = step.results
            own = ahead.setdefault(name, set()) if name in behind else {name}
            for each in step.operands:
                if each in behind:
                    ahead.setdefault(each, set()).update(own)
        bytes_ = {name: 4 * size if size > 1 else 0 for name, size in sizes.items()}
        saved = {
            name: saving(len(ahead[name]), behind=sum(bytes_[each] for each in found), own=bytes_[name])
            for name, found in behind.items()
            if len(ahead[name]) > 1
        }
        best = max(saved, key=saved.__getitem__, default=None)
        if best is None or saved[best] <= 0:
            return stored
        stored.add(best)
