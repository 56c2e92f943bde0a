"""The join of what a compiled program sends with the forecast: by each evidence, and never wrongly."""

from __future__ import annotations

from dataclasses import replace

from shardy_py.hlo.text import Frame, Origin
from shardy_py.report.join import JoinEvidence, SentItem, joined

SUM = SentItem("all_reduce", (("x", 8),), "f32", (16, 128), 1)


def at(line: int, name: str = "jit(f)/dot", file: str = "m.py") -> Origin:
    return Origin(name, (Frame(file, line),))


def found(compiled: list[SentItem], forecast: list[SentItem]) -> dict[int, tuple[tuple[int, ...], str]]:
    join = joined(compiled, forecast)
    return {number: (match.forecasts, match.evidence.name) for number, match in join.matches.items()}


def test_by_metadata_in_order() -> None:
    forecast = [replace(SUM, origins=(at(line),)) for line in (3, 4, 3)]
    compiled = [replace(SUM, origins=(at(line, file="/build/m.py"),)) for line in (4, 3, 3)]
    assert found(compiled, forecast) == {
        0: ((1,), "METADATA"),
        1: ((0,), "METADATA"),
        2: ((2,), "METADATA"),
    }


def test_frames_of_frameworks_are_passed_over() -> None:
    inner = Frame("/x/site-packages/flax/linen/linear.py", 271)
    compiled = replace(SUM, origins=(Origin("jit(f)/Dense_0/dot", (inner, Frame("m.py", 3))),))
    assert found([compiled], [replace(SUM, origins=(at(3),))]) == {0: ((0,), "METADATA")}


def test_the_metadata_may_be_of_what_is_sent() -> None:
    """JAX 0.12 gives a gather the metadata of its operand, an argument that has no line."""
    gather = replace(SUM, kind="all_gather")
    forecast = [
        replace(gather, origins=(at(line),), makers=(Origin(name),)) for line, name in ((3, "x"), (4, "w"))
    ]
    compiled = [replace(gather, origins=(Origin(name),)) for name in ("w", "x")]
    assert found(compiled, forecast) == {0: ((1,), "METADATA"), 1: ((0,), "METADATA")}


def test_combined_values_are_known_by_what_is_around_them() -> None:
    forecast = [replace(SUM, origins=(at(line),)) for line in (3, 4)]
    compiled = [
        replace(SUM, makers=(at(4),), readers=(at(3),)),
        replace(SUM, readers=(at(3),)),
    ]
    assert found(compiled, forecast) == {0: ((1,), "AROUND"), 1: ((0,), "AROUND")}


def test_makers_are_compared_where_the_reader_is_not_known() -> None:
    """A gather of a result of the program has no line by forecast, but that of what makes the result."""
    gather = replace(SUM, kind="all_gather")
    forecast = [replace(gather, makers=(at(line),)) for line in (3, 4)]
    compiled = [replace(gather, makers=(at(4),)), replace(gather, makers=(at(3),))]
    assert found(compiled, forecast) == {0: ((1,), "AROUND"), 1: ((0,), "AROUND")}


def test_type_kind_and_runs_may_change() -> None:
    forecast = [replace(SUM, element="bf16", runs=4, origins=(at(3, "jit(f)/while/body/dot"),))]
    compiled = [replace(SUM, kind="reduce_scatter", origins=(at(9, "jit(f)/while"),))]
    assert found(compiled, forecast) == {0: ((0,), "METADATA")}


def test_steps_of_one_gather_and_gathers_as_one() -> None:
    gather = replace(SUM, kind="all_gather", origins=(at(3),))
    step = replace(gather, kind="collective_permute", sizes=(2, 128))
    assert found([step] * 4, [gather, gather]) == {
        0: ((0,), "LINE"),
        1: ((0,), "LINE"),
        2: ((1,), "LINE"),
        3: ((1,), "LINE"),
    }
    both = replace(gather, axes=(("x", 8), ("y", 2)), sizes=(16, 256))
    assert found([both], [gather, replace(gather, axes=(("y", 2),))]) == {0: ((0, 1), "LINE")}


def test_without_metadata_only_what_is_certain() -> None:
    """Equal values of several lines are distinguished by their places, if these are those of the forecast."""
    forecast = [replace(SUM, origins=(at(line),), place=((depth, 1),)) for line, depth in ((3, 1), (4, 2))]
    compiled = [replace(SUM, place=((depth, 1),)) for depth in (2, 1)]
    assert found(compiled, forecast) == {0: ((1,), "STRUCTURE"), 1: ((0,), "STRUCTURE")}
    assert not found([replace(SUM, place=((5, 1),)), compiled[0]], forecast)
    assert not found(compiled, forecast[:1] * 0)
    same = [replace(each, origins=(at(3),)) for each in forecast]
    assert found([replace(SUM, place=((5, 1),))], same) == {0: ((0,), "STRUCTURE")}


def test_what_is_on_another_line_is_not_joined() -> None:
    forecast = [replace(SUM, origins=(at(3),))]
    for other in (
        replace(SUM, origins=(at(7),)),
        replace(SUM, axes=(("y", 2),), makers=(at(7),)),
        replace(SUM, sizes=(1024,)),
    ):
        assert not found([other], forecast)


def test_two_compiled_programs() -> None:
    """One has the metadata of what is sent, the other of what requires it."""
    before = [replace(SUM, origins=(at(3),), makers=(at(2),))]
    after = [replace(SUM, origins=(at(2),), readers=(at(3),))]
    for old, new in ((before, after), (after, before)):
        join = joined(new, old, are_both_compiled=True)
        assert join.matches[0].forecasts == (0,)
        assert join.matches[0].evidence in (JoinEvidence.METADATA, JoinEvidence.AROUND)
