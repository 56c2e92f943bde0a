"""What-ifs that a study answers equal those of propagating the edited program."""

from __future__ import annotations

import pickle
from itertools import islice

import pytest

from shardy_py import P, Program, Result, ShardyError, propagate
from shardy_py.api.comparison import ComparedResults, Comparison, pairs_of
from shardy_py.report.difference import Difference, changed
from shardy_py.search.what_if import StudiedComparison
from shardy_py.sharding import Mesh
from tests.search.test_studies import LOOP, SMALL, TRAIN, random_edits


def from_scratch(result: Result, edits: dict[str, object]) -> ComparedResults:
    """The comparison with the edited program, propagated with all passes."""
    edited = result.source.edited(edits, {})
    after = result.again(edited)
    return ComparedResults(result, after, Difference(changed(pairs_of(result, after, edited.origin))), "xla")


def described(comparison: Comparison) -> list[tuple[str, str, str]]:
    return sorted((change.name, str(change.before), str(change.after)) for change in comparison.changes)


@pytest.mark.parametrize(
    ("text", "count", "least"),
    [
        (SMALL, 20, 10),
        (TRAIN.read_text(), 2, 1),
        pytest.param(SMALL, 40, 20, marks=pytest.mark.slow),
        pytest.param(TRAIN.read_text(), 8, 20, marks=pytest.mark.slow),
    ],
    ids=["small", "train", "small, more", "train, more"],
)
def test_equals_propagating_from_scratch(text: str, count: int, least: int) -> None:
    result = propagate(Program.parse(text, as_compiled=True))
    changes = studied = 0
    for edits in islice(random_edits(result.source, 7), count):
        found, wanted = result.what_if(edits, partitioner="xla"), from_scratch(result, edits)
        studied += isinstance(found, StudiedComparison)
        assert described(found) == described(wanted), edits
        assert found.figures == wanted.figures, edits
        assert found.after.text() == wanted.after.text()
        changes += len(found.changes)
    assert changes > least
    assert studied > count // 2


def test_programs_and_edits_that_no_study_supports_are_propagated() -> None:
    loop = propagate(Program.parse(LOOP))
    assert isinstance(loop.what_if({"%arg0": P("x")}), ComparedResults)
    small = propagate(Program.parse(SMALL))
    assert isinstance(small.what_if({"%arg0": P("x")}), StudiedComparison)
    assert isinstance(small.what_if({"%0": P("x")}), ComparedResults)
    assert isinstance(small.what_if({"%arg0": P("x")}, mesh=Mesh.of(x=4, y=2)), ComparedResults)
    with pytest.raises(ShardyError, match="unknown axis"):
        small.what_if({"%arg0": P("z")})


def test_edits_may_change_afterwards() -> None:
    result = propagate(Program.parse(SMALL))
    edits: dict[str, object] = {"%arg0": P("x")}
    found = result.what_if(edits)
    edits.clear()
    assert any(change.name == "%arg0" for change in found.changes)


def test_of_shardys_reshards_by_propagation() -> None:
    result = propagate(Program.parse(SMALL))
    found = result.what_if({"%arg0": P("x")}, partitioner="shardy")
    assert found.figures == (*(ComparedResults(result, found.after, Difference(()), "shardy").figures),)
    assert {each.partitioner for each in found.figures} == {"shardy"}


def test_is_pickled() -> None:
    found = propagate(Program.parse(SMALL)).what_if({"%arg0": P("x")})
    again = pickle.loads(pickle.dumps(found))
    assert described(again) == described(found)
    assert again.figures == found.figures
