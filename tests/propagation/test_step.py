from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, get_ident

import pytest

from shardy_py.base.errors import ShardyError
from shardy_py.propagation.aggressive import aggressive
from shardy_py.propagation.basic import StepOptions, Strategy, basic
from shardy_py.propagation.flat import Direction, ManualBoundary
from shardy_py.propagation.step import Interner, Step, StepTable, common_mesh
from shardy_py.sharding import ShardingRule
from tests.propagation.notation import ADD, DOT, MESH, MESHES, rule, sharding, shardings, short


def take(
    strategy: Strategy,
    rule_: ShardingRule,
    before: str,
    direction: Direction = Direction.BOTH,
    *,
    conservative: bool = False,
    elementwise: bool = False,
) -> str:
    """The shardings after one step."""
    directions = tuple(Direction.NONE if f.is_blocked else direction for f in rule_.factors)
    options = StepOptions(rule_.factor_sizes, directions, conservative, elementwise)
    values = list(shardings(before))
    for position, new in Step(rule_, strategy, options).take(tuple(values), MESHES):
        values[position] = new
    return "; ".join(map(short, values))


OPEN = "[{?}, {?}]"
BASIC = [
    # What one tensor has goes to all the others; open empty shardings count as none.
    (ADD, "[{a}, {?}]; -; -", "[{a}, {?}]; [{a, ?}, {?}]; [{a, ?}, {?}]"),
    (ADD, "-; -; [{?}, {b}]", "[{?}, {b, ?}]; [{?}, {b, ?}]; [{?}, {b}]"),
    # Lists are joined while they agree; closed dimensions do not grow.
    (ADD, "[{a, ?}, {?}]; [{a, b, ?}, {?}]; -", "[{a, b, ?}, {?}]; [{a, b, ?}, {?}]; [{a, b, ?}, {?}]"),
    (ADD, "[{a}, {?}]; [{a, b, ?}, {?}]; -", "[{a}, {?}]; [{a, b, ?}, {?}]; [{a, ?}, {?}]"),
    # What contradicts itself goes nowhere; what both agree on does.
    (ADD, "[{a, ?}, {?}]; [{b, ?}, {?}]; -", "[{a, ?}, {?}]; [{b, ?}, {?}]; -"),
    (ADD, "[{a, b, ?}, {?}]; [{a, c, ?}, {?}]; -", "[{a, b, ?}, {?}]; [{a, c, ?}, {?}]; [{a, ?}, {?}]"),
    # An axis of another dimension, or a replicated or unreduced one, blocks.
    (ADD, "[{a, ?}, {?}]; [{?}, {a, ?}]; -", "[{a, ?}, {?}]; [{?}, {a, ?}]; -"),
    (ADD, f"[{{a, b, ?}}, {{?}}]; {OPEN} replicated={{b}}; -",
     "[{a, b, ?}, {?}]; [{a, ?}, {?}] replicated={b}; [{a, ?}, {?}]"),
    (ADD, f"[{{a, ?}}, {{?}}]; {OPEN} unreduced={{a}}; -", f"[{{a, ?}}, {{?}}]; {OPEN} unreduced={{a}}; -"),
    # Sub-axes: the part that does not overlap.
    (ADD, f"[{{b, ?}}, {{?}}]; {OPEN} replicated={{b:(2)2}}; -",
     "[{b, ?}, {?}]; [{b:(1)2, ?}, {?}] replicated={b:(2)2}; [{b:(1)2, ?}, {?}]"),
    (ADD, "[{b:(1)2, ?}, {?}]; [{b, ?}, {?}]; -", "[{b, ?}, {?}]; [{b, ?}, {?}]; [{b, ?}, {?}]"),
    # Contracted dimensions go from operand to operand only.
    (DOT, "[{a, ?}, {c, ?}]; -; -", "[{a, ?}, {c, ?}]; [{c, ?}, {?}]; [{a, ?}, {?}]"),
    (DOT, "[{a, ?}, {?}]; [{?}, {a, ?}]; -", "[{a, ?}, {?}]; [{?}, {a, ?}]; -"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "before", "after"), BASIC)
def test_basic(text: str, before: str, after: str) -> None:
    assert take(basic, rule(text), before) == after


AGGRESSIVE = [
    # Conflicts between factors: the first tensor wins when they are of one size.
    (DOT, "[{a, ?}, {?}]; [{?}, {a, ?}]; -", "[{a, ?}, {?}]; [{?}, {a, ?}]; [{a, ?}, {?}]"),
    # The larger tensor wins.
    ("ik, kj -> ij, i=8, j=64, k=8", "[{a, ?}, {?}]; [{?}, {a, ?}]; -",
     "[{a, ?}, {?}]; [{?}, {a, ?}]; [{?}, {a, ?}]"),
    # Each tensor takes what it can: the replicated one only less.
    (ADD, f"[{{a, b, ?}}, {{?}}]; {OPEN} replicated={{b}}; -",
     "[{a, b, ?}, {?}]; [{a, ?}, {?}] replicated={b}; [{a, b, ?}, {?}]"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "before", "after"), AGGRESSIVE)
def test_aggressive(text: str, before: str, after: str) -> None:
    assert take(aggressive, rule(text), before) == after


def test_elementwise_ops_prefer_the_more_sharded_factor() -> None:
    before = "[{a, ?}, {?}]; [{?}, {a, b, ?}]; -"
    plain = take(aggressive, rule(ADD), before)
    elementwise = take(aggressive, rule(ADD), before, elementwise=True)
    assert plain.endswith("; [{a, ?}, {?}]")
    assert elementwise.endswith("; [{?}, {a, b, ?}]")


def test_nothing_goes_sideways_that_a_closed_result_refuses() -> None:
    before = "[{a, ?}, {?}]; -; [{}, {?}]"
    assert take(aggressive, rule(ADD), before) == "[{a, ?}, {?}]; [{a, ?}, {?}]; [{}, {?}]"
    assert take(aggressive, rule(ADD), before, elementwise=True) == before


@pytest.mark.parametrize(
    ("direction", "after"),
    [
        (Direction.BOTH, "[{a, b, ?}, {?}]; [{a, b, ?}, {?}]; [{a, b, ?}, {?}]"),
        (Direction.FORWARD, "[{a, ?}, {?}]; [{a, ?}, {?}]; [{a, b, ?}, {?}]"),
        (Direction.BACKWARD, "[{a, b, ?}, {?}]; [{a, b, ?}, {?}]; [{a, b, ?}, {?}]"),
        (Direction.NONE, "[{a, ?}, {?}]; -; [{a, b, ?}, {?}]"),
    ],
)
def test_only_the_source_side_lengthens_lists(direction: Direction, after: str) -> None:
    before = "[{a, ?}, {?}]; -; [{a, b, ?}, {?}]"
    assert take(basic, rule(ADD), before, direction) == after


def test_forward_only_leaves_operands_alone_when_results_know_more() -> None:
    assert take(basic, rule(ADD), "-; -; [{a}, {?}]", Direction.FORWARD) == "-; -; [{a}, {?}]"
    assert take(basic, rule(ADD), "[{a}, {?}]; -; -", Direction.BACKWARD) == "[{a}, {?}]; -; -"


def test_blocked_factors_do_not_move() -> None:
    blocked = rule(ADD, blocked="i")
    assert take(basic, blocked, "[{a}, {b}]; -; -") == "[{a}, {b}]; [{?}, {b, ?}]; [{?}, {b, ?}]"


def test_conservative_propagation_splits_no_axis() -> None:
    split = rule("(ij) -> ij, i=2, j=8")
    assert take(basic, split, "[{b}]; -") == "[{b}]; [{b:(1)2, ?}, {b:(2)2, ?}]"
    assert take(basic, split, "[{b}]; -", conservative=True) == "[{b}]; -"


def test_reshapes_join_what_fits_without_strides() -> None:
    joined = rule("ij -> (ij), i=2, j=4")
    assert take(basic, joined, "[{a}, {c}]; -") == "[{a}, {c}]; [{a, c, ?}]"
    # "c" would need strides, because the major factor is not full.
    assert take(basic, rule("ij -> (ij), i=8, j=4"), "[{a}, {c}]; -") == "[{a}, {c}]; [{a, ?}]"
    # So does "a" along the minor factor alone: nothing is left, and no empty sharding is made.
    assert take(basic, joined, "[{?}, {a}]; -") == "[{?}, {a}]; -"
    # Of "t", of size 3, nothing fits into a factor that is not the last.
    assert take(basic, joined, "[{t}, {?}]; -") == "[{t}, {?}]; -"


def test_meshes_must_agree() -> None:
    one, other = sharding("[{a}, {?}]"), sharding("[{a}, {?}]", "other")
    single = sharding("[{?}, {?}]", "empty")
    assert common_mesh((None, one, None), MESHES) == ("mesh", MESH)
    assert common_mesh((one, other), MESHES) is None
    assert common_mesh((None, None), MESHES) is None
    assert common_mesh((single, one, single), MESHES) == ("mesh", MESH)
    twins = {**MESHES, "twin": MESH}
    assert common_mesh((sharding("[{a}]", "twin"), one), twins) == ("twin", MESH)
    with pytest.raises(ShardyError, match="unknown mesh '@nowhere'"):
        common_mesh((sharding("[{a}]", "nowhere"),), MESHES)


def test_maximal_shardings_stay_where_they_are() -> None:
    options = StepOptions((8, 8), (Direction.BOTH,) * 2)
    assert Step(rule(ADD), basic, options).take((sharding("[]", "maximal"), None, None), MESHES) == []


def test_tables_remember_by_number() -> None:
    interner = Interner()
    table = StepTable(Step(rule(ADD), basic, StepOptions((8, 8), (Direction.BOTH,) * 2)), interner, MESHES)
    sharded = interner.number(sharding("[{a, ?}, {?}]"))
    key = (sharded, 0, 0)
    assert table[key] == ((1, sharded), (2, sharded))
    assert list(table) == [key]
    assert table[sharded, sharded, sharded] == ()


@pytest.mark.parametrize("is_argument", [True, False])
def test_edges_at_the_border_of_a_manual_computation(is_argument: bool) -> None:
    """The source of an argument's edge is outside, of a result's edge inside."""
    outer = sharding("[{a, ?}, {?}]")
    options = StepOptions((16, 8), (Direction.BOTH,) * 2)
    identity = rule("ij -> ij, i=16, j=8")
    step = Step(identity, basic, options, ManualBoundary(outer, ("a",), is_argument))
    if is_argument:
        before = (sharding("[{a, b}, {c}]"), sharding("[{?}, {?}]"))
        ((position, new),) = step.take(before, MESHES)
        assert (position, short(new)) == (1, "[{b, ?}, {c, ?}]")
    else:
        before = (sharding("[{b}, {c}]"), sharding("[{a, ?}, {?}]"))
        ((position, new),) = step.take(before, MESHES)
        assert (position, short(new)) == (1, "[{a, b, ?}, {c, ?}]")


class MeetingTable(dict[object, int]):
    """A table in which two threads look a value up before either of them adds it."""

    def __init__(self) -> None:
        super().__init__()
        self.barrier, self.met = Barrier(2), set[int]()

    def get(self, key: object, default: int | None = None) -> int | None:  # pyright: ignore
        found = super().get(key, default)
        if get_ident() not in self.met:
            self.met.add(get_ident())
            self.barrier.wait(timeout=10)
        return found


def test_threads_number_a_sharding_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    interner = Interner()
    monkeypatch.setattr(interner, "_numbers", MeetingTable())
    with ThreadPoolExecutor(2) as threads:
        numbers = [*threads.map(interner.number, [sharding("[{a}, {?}]")] * 2)]
    assert numbers == [1, 1]
    assert len(interner.values) == 2
