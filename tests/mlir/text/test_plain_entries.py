"""Dictionaries and arguments as they are printed, read at once, are what reading token by token gives."""

from __future__ import annotations

import random
import re

import pytest

from shardy_py.base.errors import ShardyError
from shardy_py.base.session import SESSION
from shardy_py.mlir.dialects import parse_module, print_module

VALUES = (
    *(
        "0 : i32",
        "7 : i64",
        "007 : i32",
        "999999999 : i32",
        "1 : i1",
        "1.0 : f32",
        "5",
        "-3 : i32",
        "0x10 : i32",
    ),
    *('"a"', '"a\\22b\\\\"', '""', "true", "@f::@g", "[1, 2]", "unit", "{b = 1 : i32}", "tensor<2xf32>"),
    *('#sdy.sharding<@mesh, [{"x"}, {}]>', '#sdy.sharding<@mesh, [{"x"}, {?}]>', "#other.dialect<a, <b>>"),
    *("#alias", "#stablehlo<precision DEFAULT>", "4 : index", "127 : i8"),
)
INVALID = (
    "9999999999 : i32",
    "300 : i8",
    "#sdy.wrong<1>",
    "#sdy.sharding<#alias, [{}, {}]>",
    '"unclosed',
    "5 : i",
)
NAMES = ("a", "b.c", "sdy.sharding", "d$", "_e", '"g"', "jax.result_info", "_", "f_1")


def dictionary(rng: random.Random, fault: float) -> str:
    names = rng.sample(NAMES, rng.randrange(5))
    values = [rng.choice(INVALID if rng.random() < fault else VALUES) for _ in names]
    entries = [
        f"{name} = {value}" if rng.random() < 0.95 else name
        for name, value in zip(names, values, strict=True)
    ]
    if entries and rng.random() < fault:
        entries.append(rng.choice([entries[0], "", "1f = 1 : i32", "a ="]))
    return f"{{{', '.join(entries)}{rng.choice(('', '', ' '))}}}"


def program(rng: random.Random) -> str:
    """Some dictionaries are repeated, so that the memo of symbols holds their values."""
    fault = rng.choice((0, 0, 0.1, 0.3))
    known = [dictionary(rng, fault) for _ in range(4)]
    types = ("tensor<8x8xf32>", "tensor<?xf32>", "f32", "tensor<8x8xf32, #alias>", "() -> ()")
    names = [f"%{rng.choice(['a', 'b', 'arg', '1', '-'])}{i}" for i in range(rng.randrange(6))]
    if rng.random() < fault:
        names += rng.choice((["%a0"], ["%x#1"], [""]))
    arguments = [f"{name}: {rng.choice(types)} {rng.choice(known)}" for name in names]
    attributes = f'"t.op"() {rng.choice(known)} : () -> ()\n' * 2
    return f"#alias = 1 : i32\nfunc.func @f({', '.join(arguments)}) {{\n{attributes}return\n}}\n"


def spread(text: str) -> str:
    """The text with more space before entries, values, colons and arguments: none is as it is printed."""
    return re.sub(r"(?<=[{,:=(]) ?(?=[\w\"#@\[{%-])", "  ", text)


def outcome(text: str) -> str:
    """The program, or the errors without their places; read without what was read before."""
    SESSION.clear()
    try:
        return print_module(parse_module(text, allow_unregistered=True), generic=True)
    except ShardyError as error:
        return re.sub(r"-:\d+:\d+: ", "", str(error))


@pytest.mark.parametrize("part", range(8))
def test_random_dictionaries(part: int) -> None:
    rng = random.Random(part)
    valid = 0
    for _ in range(150):
        text = program(rng)
        found = outcome(text)
        assert found == outcome(spread(text)), text
        valid += found.startswith('"builtin.module"')
    assert 50 < valid < 140
