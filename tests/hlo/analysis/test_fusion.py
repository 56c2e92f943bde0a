"""Maps through whole functions: the specification's fusions, and random functions against sets."""

from __future__ import annotations

import random

import pytest

from shardy_py.base.errors import collected_warnings
from shardy_py.hlo.analysis import Function, Node, function_maps, fusion, hlo_function, maps
from shardy_py.hlo.analysis.maps import everything
from shardy_py.hlo.text import read_module
from shardy_py.indexing import parse_map
from shardy_py.ops import OpRecord, TensorType
from tests.hlo.analysis.oracle import elements, random_function, read_by, read_by_maps

ADD = "add { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT s = f32[] add(a, b) }\n"


def of(body: str, functions: str = ADD) -> Function:
    return hlo_function(read_module(f"HloModule m\n{functions}ENTRY main {{ {body} }}"))


def texts(body: str, parameter: int = 0, functions: str = ADD) -> set[str]:
    return {str(m) for m in function_maps(of(body, functions))[0][parameter]}


def spec(*maps: str) -> set[str]:
    return {str(parse_map(m)) for m in maps}


def test_sum_with_transpose() -> None:
    body = """p0 = f32[1000,1000] parameter(0)
        t = f32[1000,1000] transpose(p0), dimensions={1,0}
        ROOT s = f32[1000,1000] add(p0, t)"""
    domain = "domain: d0 in [0, 999], d1 in [0, 999]"
    assert texts(body) == spec(f"(d0, d1) -> (d0, d1), {domain}", f"(d0, d1) -> (d1, d0), {domain}")


def test_chains_that_read_alike() -> None:
    body = """p0 = f32[20,10,50] parameter(0)
        l1 = f32[10,20,50] transpose(p0), dimensions={1,0,2}
        l2 = f32[10,20,50] exponential(l1)
        l3 = f32[10,50,20] transpose(l2), dimensions={0,2,1}
        r1 = f32[50,10,20] transpose(p0), dimensions={2,1,0}
        r2 = f32[50,10,20] exponential(r1)
        r3 = f32[10,50,20] transpose(r2), dimensions={1,0,2}
        ROOT s = f32[10,50,20] add(l3, r3)"""
    domain = "domain: d0 in [0, 9], d1 in [0, 49], d2 in [0, 19]"
    assert texts(body) == spec(f"(d0, d1, d2) -> (d2, d0, d1), {domain}")


SOFTMAX = """p0 = f32[2,65,125] parameter(0)
    low = f32[] constant(-inf)
    zero = f32[] constant(0)
    most = f32[2,65] reduce(p0, low), dimensions={2}, to_apply=add
    most.b = f32[2,65,125] broadcast(most), dimensions={0,1}
    less = f32[2,65,125] subtract(p0, most.b)
    up = f32[2,65,125] exponential(less)
    total = f32[2,65] reduce(up, zero), dimensions={2}, to_apply=add
    total.b = f32[2,65,125] broadcast(total), dimensions={0,1}
    ROOT share = f32[2,65,125] divide(up, total.b)"""
SOFTMAX_DOMAIN = "domain: d0 in [0, 1], d1 in [0, 64], d2 in [0, 124]"


def test_softmax() -> None:
    expected = spec(
        f"(d0, d1, d2)[s0] -> (d0, d1, s0), {SOFTMAX_DOMAIN}, s0 in [0, 124]",
        f"(d0, d1, d2) -> (d0, d1, d2), {SOFTMAX_DOMAIN}",
    )
    assert texts(SOFTMAX) == expected
    forward = function_maps(of(SOFTMAX), "input-to-output")
    assert {str(m) for m in forward[0][0]} == expected


def test_fusion_ops_run_their_computation() -> None:
    inner = "swap { x = f32[3,4] parameter(0)\n ROOT t = f32[4,3] transpose(x), dimensions={1,0} }\n"
    body = """p = f32[3,4] parameter(0)
        f = f32[4,3] fusion(p), kind=kLoop, calls=swap
        ROOT g = f32[3,4] fusion(f), kind=kLoop, calls=back"""
    back = "back { x = f32[4,3] parameter(0)\n ROOT t = f32[3,4] transpose(x), dimensions={1,0} }\n"
    expected = spec("(d0, d1) -> (d0, d1), domain: d0 in [0, 2], d1 in [0, 3]")
    assert texts(body, functions=inner + back) == expected
    forward = function_maps(of(body, inner + back), "input-to-output")
    assert {str(m) for m in forward[0][0]} == expected


def test_branches_are_united() -> None:
    functions = """a { x = f32[4] parameter(0)\n ROOT n = f32[4] negate(x) }
        b { x = f32[4] parameter(0)\n ROOT r = f32[4] reverse(x), dimensions={0} }
        """
    body = """which = s32[] parameter(0)
        p = f32[4] parameter(1)
        q = f32[4] parameter(2)
        ROOT c = f32[4] conditional(which, p, q), branch_computations={a, b}"""
    assert texts(body, 0, functions) == spec("(d0) -> (), domain: d0 in [0, 3]")
    assert texts(body, 1, functions) == spec("(d0) -> (d0), domain: d0 in [0, 3]")
    assert texts(body, 2, functions) == spec("(d0) -> (-d0 + 3), domain: d0 in [0, 3]")


LOOP = """HloModule m
below { s = (s32[], f32[4], f32[2], f32[4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(9)
  ROOT less = pred[] compare(i, n), direction=LT }
step { s = (s32[], f32[4], f32[2], f32[4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[4] get-tuple-element(s), index=1
  kept = f32[2] get-tuple-element(s), index=2
  y = f32[4] get-tuple-element(s), index=3
  i1 = s32[] add(i, i)
  x1 = f32[4] add(x, y)
  ROOT t = (s32[], f32[4], f32[2], f32[4]) tuple(i1, x1, kept, y) }
ENTRY main { s = (s32[], f32[4], f32[2], f32[4]) parameter(0)
  ROOT w = (s32[], f32[4], f32[2], f32[4]) while(s), condition=below, body=step }"""


def test_loops_read_what_they_depend_on() -> None:
    grid = function_maps(hlo_function(read_module(LOOP)))
    read = [[bool(maps) for maps in row] for row in grid]
    assert read == [
        [True, False, False, False],
        [True, True, False, True],
        [False, False, True, False],
        [False, False, False, True],
    ]
    assert str(grid[2][2][0]) == "(d0) -> (d0),\ndomain:\nd0 in [0, 1]"
    assert str(grid[1][3][0]).startswith("(d0)[s0] -> (s0)")
    forward = function_maps(hlo_function(read_module(LOOP)), "input-to-output")
    assert [[bool(maps) for maps in row] for row in forward] == [
        list(column) for column in zip(*read, strict=True)
    ]


def test_a_tensor_read_in_too_many_ways_counts_as_read_whole() -> None:
    t = TensorType((64,))
    nodes = [Node("r", OpRecord("stablehlo.reverse", (t,), (t,), {"dimensions": (0,)}), (0,))]
    value = 0
    for shift in range(1, 8):
        rest = TensorType((64 - 2 ** (shift - 1),))
        cut = {"start_indices": (64 - (rest.shape[0] or 0),), "limit_indices": (64,), "strides": (1,)}
        padded = {
            "edge_padding_low": (0,),
            "edge_padding_high": cut["start_indices"],
            "interior_padding": (0,),
        }
        base = 2 + (len(nodes) - 1)
        nodes.append(Node("", OpRecord("stablehlo.slice", (t,), (rest,), cut), (value,)))
        nodes.append(Node("", OpRecord("stablehlo.pad", (rest, TensorType(())), (t,), padded), (base + 1, 1)))
        nodes.append(Node("", OpRecord("stablehlo.add", (t, t), (t,)), (value, base + 2)))
        value = base + 3
    function = Function("shifts", (t, TensorType(())), tuple(nodes), (value,))
    (maps,) = function_maps(function)[0][:1]
    assert [str(m) for m in maps] == ["(d0)[s0] -> (s0),\ndomain:\nd0 in [0, 63],\ns0 in [0, 63]"]


@pytest.mark.parametrize("seed", range(60))
def test_random_functions(seed: int) -> None:
    chance = random.Random(seed)
    function = random_function(chance, chance.choice((2, 4, 6)))
    (result,) = function.results
    if len(elements(function.types[result])) > 400:
        return
    expected = read_by(function, result)
    assert read_by_maps(function_maps(function)[0], function.types[result]) == expected
    forward = function_maps(function, "input-to-output")
    for parameter, tensor in enumerate(function.parameters):
        reached = read_by_maps(forward[parameter], tensor)
        turned = {(e, d) for e, there in reached.items() for _, d in there}
        assert turned == {(e, d) for d, there in expected.items() for p, e in there if p == parameter}


def test_the_budget_of_compositions(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is given up reads too much, never too little, and is reported."""
    function = of("""p = f32[4,6] parameter(0)
        t = f32[6,4] transpose(p), dimensions={1,0}
        r = f32[24] reshape(t)
        s = f32[12] slice(r), slice={[12:24]}
        ROOT n = f32[12] negate(s)""")
    with collected_warnings() as none:
        exact = function_maps(function)[0][0]
    monkeypatch.setattr(fusion, "MOST_COMPOSITIONS", 1)
    with collected_warnings() as warnings:
        whole = function_maps(function)[0][0]
    assert not none
    assert len(exact) == len(whole) == 1
    assert str(whole[0]).startswith("(d0)[s0, s1] -> (s0, s1)")
    (warning,) = warnings
    assert warning.message.startswith(
        "'main': 1 values, and all behind them, count as read whole: expected at most 1 "
    )
    assert str(warning.where) == "-:6:9"


def test_maps_to_whole_tensors_are_made_once_for_each_type(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[object] = []
    monkeypatch.setattr(fusion, "MOST_COMPOSITIONS", 0)
    monkeypatch.setattr(fusion, "everything", lambda *types: made.append(types) or everything(*types))
    swaps = "\n".join(f"t{i + 1} = f32[4,4] transpose(t{i}), dimensions={{1,0}}" for i in range(50))
    with collected_warnings():
        function_maps(of(f"t0 = f32[4,4] parameter(0)\n{swaps}\nROOT n = f32[4,4] negate(t50)"))
    assert len(made) == 1


def test_equal_ops_share_their_maps(monkeypatch: pytest.MonkeyPatch) -> None:
    """However often an op is repeated, its maps and their compositions are computed once."""
    made: list[str] = []
    grid = maps._grid

    def counted(record: OpRecord, direction: maps.Direction) -> maps.Grid:
        made.append(record.name)
        return grid(record, direction)

    monkeypatch.setattr(maps, "_grid", counted)
    shape, contracting = "f32[7,7]", "lhs_contracting_dims={1}, rhs_contracting_dims={0}"
    layers = "\n".join(
        f"d{i} = {shape} dot(n{i}, w), {contracting}\nn{i + 1} = {shape} negate(d{i})" for i in range(20)
    )
    body = f"n0 = {shape} parameter(0)\nw = {shape} parameter(1)\n{layers}\nROOT r = {shape} negate(n20)"
    function_maps(of(body, ""), "input-to-output")
    assert sorted(made) == ["stablehlo.dot_general", "stablehlo.negate"]


def test_called_functions_are_analysed_in_the_direction_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(fusion, "op_maps", lambda record, way: asked.append(way) or maps.op_maps(record, way))
    body = "p = f32[5] parameter(0)\nROOT c = f32[5] call(p), to_apply=twice"
    twice = "twice { a = f32[5] parameter(0)\n ROOT s = f32[5] add(a, a) }\n"
    function_maps(of(body, twice), "input-to-output")
    assert asked == ["input-to-output"]
