"""Differences between programs: values matched, changed, added, removed; figures."""

from __future__ import annotations

import json
from functools import cache
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shardy_py.api import Mesh, P, Program, propagate
from shardy_py.report.difference import Figures, difference, difference_json, difference_text
from shardy_py.report.matching import matched
from tests.api.programs import MATMUL
from tests.conftest import examples

SAME = Figures({"all_gather": 1}, 10, 1e-6, 100)
MORE = Figures({"all_gather": 3, "all_to_all": 1}, 20, 2e-6, 100)


def values_of(text: str) -> Program:
    return Program.parse(text, "m.mlir")


def test_nothing_differs() -> None:
    found = difference(values_of(MATMUL).values.table, values_of(MATMUL).values.table)
    assert not found
    assert difference_text(found, SAME, SAME) == "no differences"


def test_changed_shardings() -> None:
    base = values_of(MATMUL)
    before = propagate(base.annotate({"x": P("data")})).values.table
    after = propagate(base.annotate({"x": P("model")})).values.table
    text = difference_text(difference(before, after), SAME, MORE)
    assert text.startswith("4 changed:\n")
    assert '%0: <@mesh, [{"data"}, {}]> -> <@mesh, [{"model"}, {}]>  [model.py:7:3 jit(f)/dot]' in text
    rows = [line.split() for line in text.split("\n\n")[1].split("\n")]
    assert ["all_gather", "1", "3"] in rows
    assert ["all_to_all", "0", "1"] in rows
    assert ["bytes", "moved", "10", "B", "20", "B"] in rows
    assert "peak" not in text


def test_added_and_removed_values_do_not_shift_the_others() -> None:
    longer = MATMUL.replace(
        "%1 = stablehlo.tanh %0",
        "%2 = stablehlo.exponential %0 : tensor<32x64xf32>\n  %1 = stablehlo.tanh %2",
    )
    found = difference(values_of(MATMUL).values.table, values_of(longer).values.table)
    assert [entry.op.name for entry in found.added] == ["stablehlo.exponential"]
    assert (found.removed, found.changes) == ((), ())
    back = difference(values_of(longer).values.table, values_of(MATMUL).values.table)
    assert [entry.op.name for entry in back.removed] == ["stablehlo.exponential"]


def test_a_function_that_only_one_has() -> None:
    more = MATMUL + (
        "func.func private @f(%a: tensor<4xf32>) -> tensor<4xf32> { return %a : tensor<4xf32> }\n"
        "func.func private @g(%a: tensor<8xf32>) -> tensor<8xf32> { return %a : tensor<8xf32> }\n"
    )
    found = difference(values_of(MATMUL).values.table, values_of(more).values.table)
    assert [str(entry) for entry in found.added] == ["@f:%arg0", "@f:result 0", "@g:%arg0", "@g:result 0"]
    assert not found.removed


SHARDED = MATMUL.replace('loc("x")', '{sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>} loc("x")')


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("@main", "@f"),
        ("@mesh", "@mesh_0"),
        ("%0", "%dot"),
        ("model.py", "src/model.py"),
        (MATMUL[MATMUL.index("func.func") :], MATMUL[MATMUL.index("func.func") :].replace("%0", "%7")),
    ],
)
def test_names_and_places_do_not_count(old: str, new: str) -> None:
    assert old in SHARDED or old in MATMUL
    tables = values_of(SHARDED).values.table, values_of(SHARDED.replace(old, new)).values.table
    assert not difference(*tables)


def test_renamed_functions_are_matched_by_contents() -> None:
    both = "".join(
        f"func.func private @{name}(%a: tensor<{size}xf32>) -> tensor<{size}xf32> "
        f"{{ return %a : tensor<{size}xf32> }}\n"
        for name, size in (("f", 4), ("g", 8))
    )
    turned = both.replace("@f", "@new").replace("@g", "@f").replace("@new", "@h")
    found = difference(values_of(MATMUL + both).values.table, values_of(MATMUL + turned).values.table)
    assert [str(e) for e in found.removed] == ["@f:%arg0", "@f:result 0", "@g:%arg0", "@g:result 0"]
    renamed = both.replace("@f", "@f_0").replace("@g", "@g_0")
    assert not difference(values_of(MATMUL + both).values.table, values_of(MATMUL + renamed).values.table)


CHAIN = """
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<8xf32> {
BODY
}
"""
OPS = {
    "a": "stablehlo.add {0}, %a : tensor<8xf32>",
    "b": "stablehlo.add %b, {0} : tensor<8xf32>",
    "c": "stablehlo.tanh {0} : tensor<8xf32>",
}


def chain(letters: str, sharded: int) -> str:
    lines: list[str] = []
    for number, letter in enumerate(letters):
        op, types = OPS[letter].format(f"%{number - 1}" if number else "%a").split(" : ")
        given = ' {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>}' if number == sharded else ""
        lines.append(f"  %{number} = {op}{given} : {types}")
    last = f"%{len(letters) - 1}" if letters else "%a"
    return CHAIN.replace("BODY", "\n".join([*lines, f"  return {last} : tensor<8xf32>"]))


def test_similar_ops_are_matched_by_operands() -> None:
    """Another sum before the sharded one, of the same type: only that one is new."""
    text = chain("cb", 1)
    longer = text.replace("  %1 =", "  %9 = stablehlo.add %a, %a : tensor<8xf32>\n  %1 =")
    before, after = values_of(text).values.table, values_of(longer).values.table
    found = difference(before, after)
    assert (found.changes, found.removed, [str(entry) for entry in found.added]) == ((), (), ["%1"])


@given(st.text("abc", max_size=6), st.text("abc", max_size=6), st.integers(0, 5), st.integers(0, 5))
@settings(deadline=None, max_examples=examples(60))
def test_the_other_way_round_is_the_same(first: str, second: str, one: int, other: int) -> None:
    tables = [values_of(chain(*each)).values.table for each in ((first, one), (second, other))]
    there, back = difference(*tables), difference(*reversed(tables))
    assert [(c.entry, c.new_entry) for c in there.changes] == [(c.new_entry, c.entry) for c in back.changes]
    assert (there.removed, there.added) == (back.added, back.removed)


def test_json() -> None:
    base = values_of(MATMUL)
    found = difference(base.values.table, base.annotate({"x": P("data")}).values.table)
    (change,) = json.loads(json.dumps(difference_json(found, SAME, MORE)))["changed"]
    assert change == {
        "value": "%arg0",
        "now": "%arg0",
        "before": None,
        "after": '<@mesh, [{"data"}, {}]>',
        "location": "x",
    }


def test_long_lists_are_shortened() -> None:
    base = values_of(MATMUL)
    found = difference(base.values.table, propagate(base.annotate({"x": P("data")})).values.table)
    assert "... and 3 more" in difference_text(found, SAME, SAME, most=1)


def test_what_if_has_the_costs() -> None:
    result = propagate(values_of(MATMUL).annotate({"x": P(None, "data"), "params['w']": P("data")}))
    comparison = result.what_if({"x": P(), "params['w']": P()})
    assert comparison.moved_bytes < 0
    assert "all_reduce" in str(comparison)
    sides = comparison.before, comparison.after
    old, new = (side.memory(partitioner="xla").memory_bytes for side in sides)
    assert comparison.memory_bytes == new - old


def _longest_common(first: str, second: str) -> int:
    @cache
    def after(i: int, j: int) -> int:
        if i == len(first) or j == len(second):
            return 0
        if first[i] == second[j]:
            return 1 + after(i + 1, j + 1)
        return max(after(i + 1, j), after(i, j + 1))

    return after(0, 0)


@given(st.text("abc", max_size=9), st.text("abc", max_size=9))
def test_as_much_as_can_be_is_matched(first: str, second: str) -> None:
    pairs = matched(first, second, 100)
    assert all(first[i] == second[j] for i, j in pairs)
    assert all(a < c and b < d for (a, b), (c, d) in pairwise(pairs))
    assert len(pairs) == _longest_common(first, second)


@given(st.text("abc", max_size=9), st.text("abc", max_size=9))
def test_as_much_is_matched_beside_much_that_only_one_has(first: str, second: str) -> None:
    old, new = "d" * 60 + first, second + "e" * 60
    pairs = matched(old, new, 200)
    assert all(old[i] == new[j] for i, j in pairs)
    assert all(a < c and b < d for (a, b), (c, d) in pairwise(pairs))
    assert len(pairs) == _longest_common(first, second)


def test_too_many_edits_match_nothing() -> None:
    assert matched("aab", "bcc", 3) == []
    assert matched("aab", "bcc", 4) == [(2, 0)]


def test_meshes_that_differ() -> None:
    base = values_of(MATMUL).annotate({"x": P("data")})
    other = base.with_mesh(Mesh.of(data=8, model=2))
    found = difference(base.values.table, other.values.table)
    assert found
    assert difference_text(found, SAME, SAME) == (
        '1 mesh:\n  @mesh: <["data"=4, "model"=2]> -> <["data"=8, "model"=2]>'
    )
    (mesh,) = difference_json(found, SAME, SAME)["meshes"]
    assert mesh["after"] == '<["data"=8, "model"=2]>'
    comparison = propagate(base).what_if({"params['w']": P(None, "model")}, mesh=Mesh.of(data=8, model=2))
    assert '@mesh: <["data"=4, "model"=2]> -> <["data"=8, "model"=2]>' in str(comparison)
    assert comparison.after["x"].local_shape == (4, 128)
    assert [change.name for change in comparison.changes] == ["%arg1", "%0", "%1", "result 0"]
    assert propagate(base).what_if(mesh={"mesh": Mesh.of(data=8, model=2)}).changes == ()
