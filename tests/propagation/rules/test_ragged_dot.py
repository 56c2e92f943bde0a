"""The rule of ragged dots, with factors in XLA's order, and their work."""

from __future__ import annotations

import pytest

from shardy_py import Program
from shardy_py.mlir.holders import RULE
from shardy_py.mlir.ir import find_ops
from shardy_py.mlir.record import record_of
from shardy_py.ops import work_of
from shardy_py.xla.prepare.populate_expanded_op_rules import populate_expanded_op_rules

SIZES = {"a": 3, "b": 5, "m": 12, "p": 14, "k": 16, "q": 18, "n": 20, "r": 22, "g": 4}
"""Batch a and b; free on the left m and p, on the right n and r; contracted k and q; groups g."""


def ragged_dot(lhs: str, rhs: str, sizes: str, out: str, ragged: str) -> Program:
    """The op by letters, one a dimension."""

    def places(side: str, letters: str) -> str:
        return f"[{', '.join(str(side.index(c)) for c in letters)}]"

    def tensor(letters: str, element: str = "f32") -> str:
        return f"tensor<{''.join(f'{SIZES[c]}x' for c in letters)}{element}>"

    both = [c for c in lhs if c in rhs]
    batch, summed = "".join(c for c in both if c in out), "".join(c for c in both if c not in out)
    numbers = [
        *(
            (f"{name}_batching_dimensions", places(side, batch))
            for name, side in (("lhs", lhs), ("rhs", rhs))
        ),
        *(
            (f"{name}_contracting_dimensions", places(side, summed))
            for name, side in (("lhs", lhs), ("rhs", rhs))
        ),
        ("lhs_ragged_dimensions", places(lhs, ragged)),
        ("rhs_group_dimensions", places(rhs, "g" if "g" in rhs else "")),
    ]
    listed = ", ".join(f"{name} = {value}" for name, value in numbers if value != "[]")
    types = ", ".join((tensor(lhs), tensor(rhs), tensor(sizes, "i32")))
    return Program.parse(f"""
func.func @main(%x: {tensor(lhs)}, %w: {tensor(rhs)}, %s: {tensor(sizes, "i32")}) -> {tensor(out)} {{
  %0 = "chlo.ragged_dot"(%x, %w, %s) <{{ragged_dot_dimension_numbers = #chlo.ragged_dot<{listed}>}}>
    : ({types}) -> {tensor(out)}
  return %0 : {tensor(out)}
}}
""")


@pytest.mark.parametrize(
    ("letters", "rule", "flops"),
    [
        (
            ("mk", "gkn", "g", "mn", "m"),
            "([i, k], [l, k, j], [l])->([i, j]) {i=12, j=20, k=16, l=4} reduction={k} "
            "need_replication={i, l}",
            2 * 12 * 16 * 20,
        ),
        (
            ("mk", "kn", "g", "gmn", "k"),
            "([i, k], [k, j], [l])->([l, i, j]) {i=12, j=20, k=16, l=4} need_replication={k, l}",
            2 * 12 * 16 * 20,
        ),
        (
            ("amk", "akn", "g", "amn", "a"),
            "([i, j, l], [i, l, k], [m])->([i, j, k]) {i=3, j=12, k=20, l=16, m=1} reduction={l}",
            2 * 3 * 12 * 16 * 20,
        ),
        (
            ("kmaqpb", "kanqbrg", "abmg", "abmpnr", "p"),
            "([o, k, i, p, l, j], [o, i, m, p, j, n, q], [i, j, k, q])->([i, j, k, l, m, n]) {i=3, j=5, "
            "k=12, l=14, m=20, n=22, o=16, p=18, q=4} reduction={o, p} need_replication={l, q}",
            2 * 3 * 5 * 12 * 14 * 16 * 18 * 20 * 22,
        ),
        (
            ("kmaqpb", "kanqbr", "abkg", "gabmpnr", "q"),
            "([o, k, i, p, l, j], [o, i, m, p, j, n], [i, j, o, q])->([q, i, j, k, l, m, n]) {i=3, j=5, "
            "k=12, l=14, m=20, n=22, o=16, p=18, q=4} reduction={o} need_replication={p, q}",
            2 * 3 * 5 * 12 * 14 * 16 * 18 * 20 * 22,
        ),
        (
            ("amk", "gakn", "g", "amn", "m"),
            "([i, j, l], [m, i, l, k], [m])->([i, j, k]) {i=3, j=12, k=20, l=16, m=4} reduction={l} "
            "need_replication={j, m}",
            2 * 3 * 12 * 16 * 20,
        ),
    ],
)
def test_rule_and_work(letters: tuple[str, ...], rule: str, flops: int) -> None:
    program = ragged_dot(*letters)
    populate_expanded_op_rules(program.module)
    (op,) = find_ops(program.module, "chlo.ragged_dot")
    assert str(op.attributes[RULE]) == f"#sdy.op_sharding_rule<{rule}>"
    work = work_of(record_of(op))
    assert (work.flops, work.is_product) == (flops, True)
