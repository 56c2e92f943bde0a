"""What a page shows, as data: items, folded layers, shardings over time, collectives, lives, reasons."""

from __future__ import annotations

import json
from typing import Any

import pytest

from shardy_py import Program, Result, propagate
from shardy_py.viewer.explorer import collect_items, document, folded
from shardy_py.viewer.explorer.divided import MOST_SHOWN, divided
from shardy_py.viewer.explorer.items import split_scopes
from shardy_py.viewer.explorer.placement import apart, place, wrapped
from shardy_py.viewer.explorer.scopes import repeated_runs
from shardy_py.viewer.explorer_file import Subject, subject_of
from tests.viewer.explorer.programs import OPS_IN_LAYER, layers


def _result(text: str) -> Result:
    return propagate(Program.parse(text, "model.mlir"))


def _document(result: Result, other: Result | None = None) -> dict[str, Any]:
    def subject(result: Result) -> Subject:
        return subject_of(result, "model", result.communication(), has_sources=False)

    made = document(subject(result), None if other is None else subject(other))
    return json.loads(json.dumps(made))


def _kinds(made: dict[str, Any]) -> list[tuple[str, str]]:
    texts, items = made["texts"], made["items"]
    return [(texts[kind], texts[label]) for kind, label in zip(items["kind"], items["label"], strict=True)]


def test_equal_layers_are_one_repeated_group() -> None:
    made = _document(_result(layers(6)))
    kinds = _kinds(made)
    assert ("repeat", "layer_*") in kinds
    assert [label for kind, label in kinds if kind == "scope" and label.startswith("layer_")] == [
        f"layer_{n}" for n in range(6)
    ]
    repeat = kinds.index(("repeat", "layer_*"))
    inside = [n for n, parent in enumerate(made["items"]["parent"]) if parent == repeat]
    assert [kinds[n][1] for n in inside] == [f"layer_{n}" for n in range(6)]
    assert sum(kind == "op" for kind, _ in kinds) == 6 * OPS_IN_LAYER


def test_groups_come_before_what_is_in_them() -> None:
    made = _document(_result(layers(4)))
    assert all(parent < n for n, parent in enumerate(made["items"]["parent"]))


def test_steps_lead_from_the_annotations_to_the_final_shardings() -> None:
    result = _result(layers(3))
    made = _document(result)
    state = list(made["values"]["start"])
    assert state != made["values"]["final"]
    for _, _, changes, _ in made["steps"]:
        for value, sharding in zip(changes[::2], changes[1::2], strict=True):
            assert state[value] != sharding
            state[value] = sharding
    assert state == made["values"]["final"]
    texts = [row and row[3] for row in made["shardings"]]
    entries = result.values.table.entries
    assert [texts[n] for n in made["values"]["final"]] == [
        None if e.sharding is None else str(e.sharding) for e in entries
    ]


def test_each_move_has_its_source() -> None:
    made = _document(_result(layers(2)))
    moves = [move for step in made["steps"] for move in step[3]]
    assert moves
    assert all(source >= 0 for _, _, _, source, _ in moves)


def test_collectives_name_the_op_that_they_are_sent_for() -> None:
    result = _result(layers(2))
    made = _document(result)
    kinds, texts = _kinds(made), made["texts"]
    uses = result.communication().sending
    assert len(uses) == len(made["collectives"]) == 2
    for row, use in zip(made["collectives"], uses, strict=True):
        assert texts[row[0]] == use.kind == "all_reduce"
        assert row[3] == use.total.bytes
        assert kinds[row[6]] == ("op", "dot_general")


def test_a_second_program_is_another_state() -> None:
    first = _result(layers(2))
    comparison = first.what_if({"%arg0": None})
    made = _document(first, comparison.after)
    assert made["other"]["final"] != made["values"]["final"]
    assert -1 not in made["other"]["final"]
    assert len(made["other"]["collectives"]) == len(comparison.after.communication().sending)


def test_the_largest_tensors_have_reasons_why_not() -> None:
    made = _document(_result(layers(2)))
    texts, names = made["texts"], made["values"]["name"]
    found = {
        (texts[names[v]], d, texts[axis]): [texts[r] for r in why] for v, d, axis, *why in made["refused"]
    }
    assert found["%arg1", 0, "data"][0].startswith("closed: dimension 0 of %arg1 is closed")


def test_lives_begin_at_the_op_and_end_at_the_last_use() -> None:
    made = _document(_result(layers(1)))
    order, first, last = made["lives"]
    kinds = _kinds(made)
    names = {made["texts"][n]: at for at, n in enumerate(made["values"]["name"])}
    labels = [kinds[item][1] for item in order]
    assert labels == ["dot_general", "tanh", "multiply", "dot_general", "add"]
    dot = names["%0"]
    assert (first[dot], last[dot]) == (0, 2)
    assert last[names["%arg0"]] == 4


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("a/b", ("a", "b")),
        ("jit(f)/transpose(jvp(a/b))/c", ("jit(f)", "transpose(jvp(a/b))", "c")),
        ("", ("",)),
    ],
)
def test_scopes_in_parentheses_stay_whole(name: str, parts: tuple[str, ...]) -> None:
    assert split_scopes(name) == parts


def test_runs_of_equal_ops_are_found() -> None:
    layer = ["dot", "add", "tanh", "dot", "mul", "add"]
    assert repeated_runs(["a", *layer * 5, "b"]) == [(1, 6, 5)]
    assert repeated_runs(["a", "b", "c"]) == []


def test_places_keep_their_distance() -> None:
    placed = place((80.0, 120.0, 80.0, 90.0), frozenset({(0, 1), (0, 2), (1, 3), (2, 3)}))
    assert placed.rows == ((0,), (1, 2), (3,))
    left, right = placed.centers[1]
    assert right - left >= (120 + 80) / 2
    assert apart([5.0, 5.0, 5.0], [10, 10, 10]) == [-29.0, 5.0, 39.0]


def test_a_repeat_is_wide_enough_for_how_often_it_recurs() -> None:
    def width(count: int) -> int:
        text = layers(count).replace("layer_", "decoder_layer_of_stack_")
        made = _document(_result(text))
        kinds = [kind for kind, _ in _kinds(made)]
        widths = (zip(group[1], group[5], strict=True) for group in made["layouts"])
        return next(wide for pairs in widths for child, wide in pairs if kinds[child] == "repeat")

    assert width(100) > width(10)


def _residual_blocks(count: int) -> str:
    """Blocks of 20 ops without scopes that add to their input; every second one has another op."""
    type_ = "tensor<8x16xf32>"
    lines = [f"  %x0 = stablehlo.negate %arg0 : {type_}"]
    for block in range(count):
        before = f"%x{block}"
        for at in range(19):
            op = "tanh" if block % 2 else "sine"
            lines.append(f"  %b{block}_{at} = stablehlo.{op} {before} : {type_}")
            before = f"%b{block}_{at}"
        lines.append(f"  %x{block + 1} = stablehlo.add %x{block}, {before} : {type_}")
    head = f"func.func @main(%arg0: {type_}) -> {type_} {{"
    return "\n".join([head, *lines, f"  return %x{count} : {type_}", "}", ""])


def test_residual_blocks_without_scopes_are_sections() -> None:
    made = _document(_result(_residual_blocks(3)))
    assert [label for kind, label in _kinds(made) if kind == "scope"] == [
        "%1..%20",
        "%21..%40",
        "%41..%60",
    ]


def test_short_programs_are_not_folded() -> None:
    assert "scope" not in {kind for kind, _ in _kinds(_document(_result(_residual_blocks(1))))}


def _chain(count: int, *, passes_on: int) -> str:
    """Ops without scopes, repeats or waists: each uses the one before it and one far before."""
    type_, names = "tensor<8x16xf32>", ["%arg0"]
    ops = ("tanh", "sine", "cosine", "negate", "abs")
    lines: list[str] = []
    for at in range(count):
        far = names[max(0, at - passes_on - at * at % 7)]
        lines.append(f"  %a{at} = stablehlo.{ops[at * at % 5]} {names[-1]} : {type_}")
        lines.append(f"  %b{at} = stablehlo.add %a{at}, {far} : {type_}")
        names.append(f"%b{at}")
    head = f"func.func @main(%arg0: {type_}) -> {type_} {{"
    return "\n".join([head, *lines, f"  return {names[-1]} : {type_}", "}", ""])


@pytest.mark.parametrize("count", [60, 900])
def test_no_group_shows_too_many_boxes(count: int) -> None:
    items = divided(folded(collect_items(Program.parse(_chain(count, passes_on=9)).values.table)))
    found = items.found
    assert max(len(item.children) for item in found if item.kind != "repeat") <= MOST_SHOWN + 2
    assert sum(item.kind == "op" for item in found) == 2 * count
    assert all(item.parent < number for number, item in enumerate(found))
    for item in found:
        ops = [child for child in item.children if found[child].kind == "op"]
        assert ops == sorted(ops), "in the order of the program"
    assert [items.found[n].op for n in items.of_op.values()] == [
        item.op for item in found if item.kind == "op"
    ]


_STEP = """
func.func @main(%w: tensor<8x8xf32>, %x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = stablehlo.tanh %x : tensor<8x8xf32> loc("jit(step)/jvp(layer)/tanh")
  %1 = stablehlo.multiply %0, %w : tensor<8x8xf32> loc("jit(step)/jvp(layer)/mul")
  %2 = stablehlo.negate %w : tensor<8x8xf32> loc("jit(step)/decay")
  %3 = stablehlo.multiply %1, %0 : tensor<8x8xf32> loc("jit(step)/transpose(jvp(layer))/mul")
  %4 = stablehlo.add %3, %1 : tensor<8x8xf32> loc("jit(step)/transpose(jvp(layer))/add")
  %5 = stablehlo.add %4, %2 : tensor<8x8xf32> loc("jit(step)/sub")
  return %5 : tensor<8x8xf32>
}
"""


def test_a_training_step_is_shown_by_passes() -> None:
    made = _document(_result(_STEP))
    kinds, parents = _kinds(made), made["items"]["parent"]
    passes = [n for n, (kind, _) in enumerate(kinds) if kind == "pass"]
    assert [kinds[n][1] for n in passes] == ["forward", "backward", "update"]
    inside = {kinds[n][1]: [kinds[c][1] for c, p in enumerate(parents) if p == n] for n in passes}
    assert inside["update"] == ["negate", "add", "result 0"], "with what only the update needs"
    forward = made["layouts"]
    order = next(children for group, children, *_ in forward if passes[0] in children)
    assert [n for n in order if n in passes] == passes


def test_a_program_of_one_pass_has_no_passes() -> None:
    assert "pass" not in {kind for kind, _ in _kinds(_document(_result(layers(2))))}


def test_functions_stand_in_rows_below_the_main_one() -> None:
    placed = wrapped([100.0] * 30, 3)
    assert placed.rows[0] == (3,)
    assert sorted(item for row in placed.rows for item in row) == [*range(30)]
    assert len(placed.rows) == 1 + 3
    assert placed.centers[0] == (0.0,)
    assert all(centers[-1] + 50 <= 700 for centers in placed.centers)
