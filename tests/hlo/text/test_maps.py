"""HLO text in, maps out: the rows of the indexing specification, in both directions where it gives both."""

from __future__ import annotations

import pytest

from shardy_py.hlo.text import read_module, record_of
from shardy_py.indexing import evaluate_points, parse_map, point_chunks
from shardy_py.ops import OpRecord, input_to_output, output_to_input

ADD = "add { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT s = f32[] add(a, b) }"
BOTH = """pair { a = f32[] parameter(0)\n b = s32[] parameter(1)
    c = f32[] parameter(2)
    d = s32[] parameter(3)
    e = f32[] add(a, c)\n f = s32[] add(b, d)\n ROOT t = (f32[], s32[]) tuple(e, f) }"""


def record(instruction: str, operands: tuple[str, ...]) -> OpRecord:
    """The record of `SHAPE OPCODE(p0, p1, ...), ...`."""
    parameters = "\n".join(f"p{i} = {shape} parameter({i})" for i, shape in enumerate(operands))
    module = read_module(f"HloModule m\n{ADD}\n{BOTH}\nENTRY e {{\n{parameters}\nROOT r = {instruction}\n}}")
    main = module.entry_computation
    return record_of(main.by_name["r"], main, module.by_name)


def box(*sizes: int) -> str:
    return ", ".join(f"d{i} in [0, {size - 1}]" for i, size in enumerate(sizes))


def spelled(arrow: str, *sizes: int, more: str = "") -> str:
    """A map as the specification spells it, on a box."""
    return str(parse_map(f"{arrow}, domain: {box(*sizes)}{more and ', ' + more}"))


GATHER = """f32[1806,7,8,4] gather(p0, p1), offset_dims={1,2,3}, collapsed_slice_dims={},
    start_index_map={0,1}, index_vector_dim=1, slice_sizes={7,8,4}"""
CONCATENATED = ("f32[2,5,7]", "f32[2,11,7]", "f32[2,17,7]")
DOT = """f32[4,128,64] dot(p0, p1), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2},
    rhs_contracting_dims={1}"""
SCALARS = ("s32[]", "s32[]", "s32[]")
OUT, IN = "output-to-input", "input-to-output"

CASES: list[tuple[str, tuple[str, ...], str, tuple[int, int], str]] = [
    ("f32[10,20] add(p0, p1)", ("f32[10,20]",) * 2, OUT, (0, 1), spelled("(d0, d1) -> (d0, d1)", 10, 20)),
    ("f32[10,20] add(p0, p1)", ("f32[10,20]",) * 2, IN, (1, 0), spelled("(d0, d1) -> (d0, d1)", 10, 20)),
    (
        "f32[10,20,30] broadcast(p0), dimensions={1}",
        ("f32[20]",),
        OUT,
        (0, 0),
        spelled("(d0, d1, d2) -> (d1)", 10, 20, 30),
    ),
    (
        "f32[10,20,30] broadcast(p0), dimensions={1}",
        ("f32[20]",),
        IN,
        (0, 0),
        spelled("(d0)[s0, s1] -> (s0, d0, s1)", 20, more="s0 in [0, 9], s1 in [0, 29]"),
    ),
    (
        "s32[1,2,32] dynamic-slice(p0, p1, p2, p3), dynamic_slice_sizes={1,2,32}",
        ("s32[2,2,258]", *SCALARS),
        OUT,
        (0, 0),
        spelled(
            "(d0, d1, d2){rt0, rt1, rt2} -> (d0 + rt0, d1 + rt1, d2 + rt2)",
            1,
            2,
            32,
            more="rt0 in [0, 1], rt1 in [0, 0], rt2 in [0, 226]",
        ),
    ),
    (
        "s32[1,2,32] dynamic-slice(p0, p1, p2, p3), dynamic_slice_sizes={1,2,32}",
        ("s32[2,2,258]", *SCALARS),
        OUT,
        (0, 2),
        spelled("(d0, d1, d2) -> ()", 1, 2, 32),
    ),
    (
        "s32[20,30] dynamic-update-slice(p0, p1, p2, p3)",
        ("s32[20,30]", "s32[5,10]", "s32[]", "s32[]"),
        OUT,
        (0, 0),
        spelled("(d0, d1) -> (d0, d1)", 20, 30),
    ),
    (
        "s32[20,30] dynamic-update-slice(p0, p1, p2, p3)",
        ("s32[20,30]", "s32[5,10]", "s32[]", "s32[]"),
        OUT,
        (0, 1),
        spelled(
            "(d0, d1){rt0, rt1} -> (d0 - rt0, d1 - rt1)",
            20,
            30,
            more="rt0 in [0, 15], rt1 in [0, 20], d0 - rt0 in [0, 4], d1 - rt1 in [0, 9]",
        ),
    ),
    (
        GATHER,
        ("f32[33,76,70]", "s32[1806,2]"),
        OUT,
        (0, 0),
        spelled(
            "(d0, d1, d2, d3){rt0, rt1} -> (d1 + rt0, d2 + rt1, d3)",
            1806,
            7,
            8,
            4,
            more="rt0 in [0, 26], rt1 in [0, 68]",
        ),
    ),
    (
        GATHER,
        ("f32[33,76,70]", "s32[1806,2]"),
        OUT,
        (0, 1),
        spelled("(d0, d1, d2, d3)[s0] -> (d0, s0)", 1806, 7, 8, 4, more="s0 in [0, 1]"),
    ),
    (
        "f32[3,6,128,12288] transpose(p0), dimensions={0,2,3,1}",
        ("f32[3,12288,6,128]",),
        OUT,
        (0, 0),
        spelled("(d0, d1, d2, d3) -> (d0, d3, d1, d2)", 3, 6, 128, 12288),
    ),
    (
        "f32[3,6,128,12288] transpose(p0), dimensions={0,2,3,1}",
        ("f32[3,12288,6,128]",),
        IN,
        (0, 0),
        spelled("(d0, d1, d2, d3) -> (d0, d2, d3, d1)", 3, 12288, 6, 128),
    ),
    *(
        (
            "f32[1,17,9,9] reverse(p0), dimensions={1,2}",
            ("f32[1,17,9,9]",),
            direction,
            (0, 0),
            spelled("(d0, d1, d2, d3) -> (d0, -d1 + 16, -d2 + 8, d3)", 1, 17, 9, 9),
        )
        for direction in (OUT, IN)
    ),
    *(
        (
            "(f32[10], s32[10]) reduce(p0, p1, p2, p3), dimensions={0}, to_apply=pair",
            ("f32[256,10]", "s32[256,10]", "f32[]", "s32[]"),
            direction,
            pair,
            expected,
        )
        for direction, pair, expected in (
            (OUT, (1, 0), spelled("(d0)[s0] -> (s0, d0)", 10, more="s0 in [0, 255]")),
            (OUT, (0, 3), spelled("(d0) -> ()", 10)),
            (IN, (0, 1), spelled("(d0, d1) -> (d1)", 256, 10)),
            (IN, (2, 1), str(parse_map("()[s0] -> (s0), domain: s0 in [0, 9]"))),
        )
    ),
    (
        "f32[5,3,25] slice(p0), slice={[5:10:1], [3:20:7], [0:50:2]}",
        ("f32[10,20,50]",),
        OUT,
        (0, 0),
        spelled("(d0, d1, d2) -> (d0 + 5, d1 * 7 + 3, d2 * 2)", 5, 3, 25),
    ),
    (
        "f32[5,3,25] slice(p0), slice={[5:10:1], [3:20:7], [0:50:2]}",
        ("f32[10,20,50]",),
        IN,
        (0, 0),
        "(d0, d1, d2) -> (d0 - 5, (d1 - 3) floordiv 7, d2 floordiv 2),\ndomain:\nd0 in [5, 9],\n"
        "d1 in [3, 17],\nd2 in [0, 48],\n(d1 - 3) mod 7 in [0, 0],\nd2 mod 2 in [0, 0]",
    ),
    *(
        (f"{result} reshape(p0)", (operand,), direction, (0, 0), expected)
        for operand, result, direction, expected in (
            ("f32[4,8]", "f32[32]", OUT, spelled("(d0) -> (d0 floordiv 8, d0 mod 8)", 32)),
            ("f32[4,8]", "f32[32]", IN, spelled("(d0, d1) -> (d0 * 8 + d1)", 4, 8)),
            ("f32[32]", "f32[4,8]", OUT, spelled("(d0, d1) -> (d0 * 8 + d1)", 4, 8)),
            (
                "f32[4,8]",
                "f32[2,4,4]",
                OUT,
                spelled("(d0, d1, d2) -> (d0 * 2 + d1 floordiv 2, d2 + (d1 mod 2) * 4)", 2, 4, 4),
            ),
            (
                "f32[4,8]",
                "f32[2,4,4]",
                IN,
                spelled("(d0, d1) -> (d0 floordiv 2, d1 floordiv 4 + (d0 mod 2) * 2, d1 mod 4)", 4, 8),
            ),
            (
                "f32[4,8,12]",
                "f32[32,3,4]",
                OUT,
                spelled("(d0, d1, d2) -> (d0 floordiv 8, d0 mod 8, d1 * 4 + d2)", 32, 3, 4),
            ),
        )
    ),
    (
        "f32[2,33,7] concatenate(p0, p1, p2), dimensions={1}",
        CONCATENATED,
        OUT,
        (0, 1),
        "(d0, d1, d2) -> (d0, d1 - 5, d2),\ndomain:\nd0 in [0, 1],\nd1 in [5, 15],\nd2 in [0, 6]",
    ),
    (
        "f32[2,33,7] concatenate(p0, p1, p2), dimensions={1}",
        CONCATENATED,
        IN,
        (2, 0),
        spelled("(d0, d1, d2) -> (d0, d1 + 16, d2)", 2, 17, 7),
    ),
    *(
        (DOT, ("f32[4,128,256]", "f32[4,256,64]"), direction, pair, expected)
        for direction, pair, expected in (
            (OUT, (0, 0), spelled("(d0, d1, d2)[s0] -> (d0, d1, s0)", 4, 128, 64, more="s0 in [0, 255]")),
            (OUT, (0, 1), spelled("(d0, d1, d2)[s0] -> (d0, s0, d2)", 4, 128, 64, more="s0 in [0, 255]")),
            (IN, (0, 0), spelled("(d0, d1, d2)[s0] -> (d0, d1, s0)", 4, 128, 256, more="s0 in [0, 63]")),
            (IN, (1, 0), spelled("(d0, d1, d2)[s0] -> (d0, s0, d2)", 4, 256, 64, more="s0 in [0, 127]")),
        )
    ),
    (
        "f32[12,16] pad(p0, p1), padding=1_4_1x4_8_0",
        ("f32[4,4]", "f32[]"),
        OUT,
        (0, 0),
        "(d0, d1) -> ((d0 - 1) floordiv 2, d1 - 4),\ndomain:\nd0 in [1, 7],\nd1 in [4, 7],\n"
        "(d0 - 1) mod 2 in [0, 0]",
    ),
    (
        "f32[12,16] pad(p0, p1), padding=1_4_1x4_8_0",
        ("f32[4,4]", "f32[]"),
        OUT,
        (0, 1),
        spelled("(d0, d1) -> ()", 12, 16),
    ),
    (
        "f32[1024,3] reduce-window(p0, p1), window={size=1x512}, to_apply=add",
        ("f32[1024,514]", "f32[]"),
        OUT,
        (0, 0),
        spelled("(d0, d1)[s0] -> (d0, d1 + s0)", 1024, 3, more="s0 in [0, 511]"),
    ),
    (
        "f32[8,4]{1,0} bitcast(p0)",
        ("f32[4,8]{0,1}",),
        OUT,
        (0, 0),
        spelled("(d0, d1) -> (d1, d0)", 8, 4),
    ),
    (
        "f32[32]{0} bitcast(p0)",
        ("f32[4,8]{1,0}",),
        OUT,
        (0, 0),
        spelled("(d0) -> (d0 floordiv 8, d0 mod 8)", 32),
    ),
    (
        "f32[8] all-to-all(p0), dimensions={0}, replica_groups={{0,1},{2,3}}",
        ("f32[8]",),
        OUT,
        (0, 0),
        spelled("(d0){rt0} -> (d0 mod 4 + rt0 * 4)", 8, more="rt0 in [0, 1]"),
    ),
    (
        "f32[8] all-to-all(p0), dimensions={0}, replica_groups={}",
        ("f32[8]",),
        OUT,
        (0, 0),
        spelled("(d0){rt0} -> (rt0)", 8, more="rt0 in [0, 7]"),
    ),
    ("f32[4] copy(p0)", ("f32[4]",), OUT, (0, 0), spelled("(d0) -> (d0)", 4)),
]


@pytest.mark.parametrize(("instruction", "operands", "direction", "pair", "expected"), CASES)
def test_maps(
    instruction: str, operands: tuple[str, ...], direction: str, pair: tuple[int, int], expected: str
) -> None:
    made = record(instruction, operands)
    grid = output_to_input(made) if direction == OUT else input_to_output(made)
    assert [str(m) for m in grid[pair[0]][pair[1]]] == [expected]


@pytest.mark.parametrize("lower", [True, False])
def test_cholesky_reads_one_triangle(lower: bool) -> None:
    made = record(f"f32[3,3] cholesky(p0), lower={str(lower).lower()}", ("f32[3,3]",))
    read = {
        tuple(point.tolist())
        for index_map in output_to_input(made)[0][0]
        for chunk in point_chunks(index_map)
        for point in evaluate_points(index_map, chunk)[0]
    }
    assert read == {(i, j) for i in range(3) for j in range(3) if (i >= j if lower else i <= j)}


def test_constants_and_iota_read_nothing() -> None:
    assert output_to_input(record("f32[4] iota(), iota_dimension=0", ())) == ((),)
    assert output_to_input(record("f32[2] constant({1, 2})", ())) == ((),)
