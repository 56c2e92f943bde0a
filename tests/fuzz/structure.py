"""Damages the structure of a program, which still parses: operands, types, attributes, regions, names of ops.

Programs are printed in the generic form, where every op may have any operands, types, attributes and regions.
Not here: damage of characters and tokens (`mutation.py`).
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from shardy_py.base.errors import ShardyError
from shardy_py.mlir.dialects import chlo, parse_module, print_module, stablehlo

TYPES = (
    *(
        "tensor<?xf32>",
        "tensor<*xf32>",
        "tensor<f32>",
        "tensor<0x4xf32>",
        "tensor<8x?x4xi1>",
        "!stablehlo.token",
    ),
    *(
        "tuple<>",
        "tuple<tensor<8xf32>, tensor<8xf32>>",
        "tensor<9223372036854775807xf32>",
        "f32",
        "index",
        "none",
    ),
    *(
        "tensor<4294967296x4294967296x4294967296xf32>",
        "tensor<4xcomplex<f32>>",
        "tensor<8x!quant.uniform<i8:f32, 1.0>>",
    ),
    *("tensor<" + "1x" * 40 + "f32>", "tensor<8x4xi0>", "tensor<2xindex>", "memref<4xf32>", "vector<4xf32>"),
    *("tensor<?xf32, #stablehlo.bounds<8>>", "tensor<8xui64>", "tensor<1x1xf8E4M3FN>"),
)
ATTRIBUTES = (
    *(
        "unit",
        "true",
        "-1 : i64",
        "9223372036854775807 : i64",
        "0 : i32",
        "4294967296 : i64",
        "1.5 : f32",
        '"x"',
        '""',
    ),
    *(
        "@main",
        "@missing",
        "@a::@b",
        "[]",
        "[1, 2]",
        "{}",
        "{a = 1}",
        "array<i64>",
        "array<i64: 0>",
        "array<i64: -1, 5>",
    ),
    *(
        "array<i64: 9223372036854775807, 1>",
        "array<i32: 0, 1>",
        "array<i1: true>",
        "dense<0> : tensor<4294967296xi64>",
    ),
    *(
        "dense<[0, 1]> : tensor<2xi64>",
        "dense<[[0, 1]]> : tensor<1x2xi64>",
        "dense<1> : tensor<2x2xi64>",
        "tensor<8xf32>",
    ),
    *(
        '#sdy.sharding<@mesh, [{"x"}]>',
        '#sdy.sharding<@mesh, [{"x":(1)2, ?}p1, {}]>',
        "#sdy.sharding<@mesh, []>",
    ),
    *(
        '#sdy.sharding_per_value<[<@mesh, [{"x"}]>]>',
        "#sdy.sharding_per_value<[]>",
        "#sdy.sharding<@missing, [{}]>",
    ),
    *(
        "#sdy.sharding_per_value<[<@mesh, [{?}, {?}]>]>",
        '#sdy.mesh<["x"=2]>',
        '#sdy.mesh<["x"=9223372036854775807]>',
    ),
    *(
        "#sdy.op_sharding_rule<([i])->([i]) {i=8}>",
        '#sdy<manual_axes{"x"}>',
        '#sdy<list_of_axis_ref_lists[{"x"}]>',
    ),
    *(
        "#stablehlo.channel_handle<handle = 1, type = 0>",
        "#stablehlo<comparison_direction LT>",
        "affine_map<(a) -> (a)>",
    ),
)
NAMES = (
    *(
        "func.func",
        "func.return",
        "func.call",
        "builtin.module",
        "sdy.mesh",
        "sdy.manual_computation",
        "sdy.return",
    ),
    *(
        "sdy.reshard",
        "sdy.sharding_constraint",
        "sdy.sharding_group",
        "sdy.propagation_barrier",
        "sdy.all_gather",
    ),
    *(
        "sdy.all_slice",
        "sdy.all_to_all",
        "sdy.collective_permute",
        "sdy.all_reduce",
        "sdy.data_flow_edge",
        "t.unknown",
    ),
    *(
        "sdy.func_data_flow_edge",
        "sdy.named_computation",
        "sdy.constant",
        "sdy.sharded_to_unreduced",
        "sdy.reduce_scatter",
    ),
)
_SYMBOLS = (
    "sym_name",
    "callee",
    "function_type",
    "arg_attrs",
    "res_attrs",
    "sdy.sharding",
    "sdy.sharding_rule",
)
_TYPE = re.compile(r"tensor<[^<>]*(?:<[^<>]*>[^<>]*)*>|tuple<.*?>|!stablehlo\.token")
_OP = re.compile(r'"((?:\w+\.)+\w+)"(?=\()')
_SIZE = re.compile(r"(?<=[<x])\d+(?=x)")
_BLOCK_END = re.compile(r"\n *\"[\w.]*return\"\([^\n]*")


@cache
def _op_names() -> tuple[str, ...]:
    rows = ((table.dialect, row) for table in (stablehlo.OPS, chlo.OPS) for row in table.rows)
    return (*NAMES, *(f"{dialect}.{row}" for dialect, row in rows))


@cache
def _attributes() -> tuple[Attribute, ...]:
    listed = ", ".join(f"a{index} = {text}" for index, text in enumerate(ATTRIBUTES))
    module = parse_module(f"module attributes {{t.all = {{{listed}}}}} {{}}")
    entries: Any = module.attributes["t.all"]
    return tuple(entries.data.values())


def restructured(data: bytes, random_: random.Random) -> bytes:
    """Returns a program in generic form after up to three mutations; `data` itself if it does not parse."""
    try:
        module = parse_module(data.decode("utf-8", "surrogateescape"), allow_unregistered=True)
    except ShardyError:
        return data
    for _ in range(random_.choice((0, 1, 1, 2))):
        ops = [*module.walk()]
        random_.choice(OP_MUTATIONS)(random_.choice(ops), random_, ops)
    text = _printed(module)
    if text is None:
        return data
    for _ in range(random_.choice((0, 0, 1, 1, 2))):
        text = random_.choice(FORM_MUTATIONS)(text, random_)
    return text.encode("utf-8", "surrogateescape")


def _printed(module: ModuleOp) -> str | None:
    """The generic form; None of IR that has none, such as an operand without a definition."""
    try:
        return print_module(module, generic=True)
    except (ShardyError, KeyError, TypeError, ValueError, AttributeError):
        return None


# ---------------------------------------------------------------------- of ops

Ops = Sequence[Operation]


def _values(ops: Ops) -> list[SSAValue]:
    blocks = (block for op in ops for region in op.regions for block in region.blocks)
    return [
        *(value for op in ops for value in op.results),
        *(value for block in blocks for value in block.args),
    ]


def _operands(op: Operation, random_: random.Random, ops: Ops) -> None:
    """Drops, adds, repeats or swaps operands."""
    operands, values = [*op.operands], _values(ops)
    place = random_.randrange(len(operands) + 1)
    change = random_.randrange(4)
    if change == 0:
        del operands[place : place + 1]
    elif change == 1 and values:
        operands.insert(place, random_.choice(values))
    elif change == 2 and values and operands:
        operands[place % len(operands)] = random_.choice(values)
    else:
        random_.shuffle(operands)
    op.operands = operands


def _attribute(op: Operation, random_: random.Random, ops: Ops) -> None:
    """Drops an attribute, or takes one from another op or the list, under a name of this op or another."""
    held = random_.choice((op.properties, op.properties, op.attributes)) or op.attributes
    lender = random_.choice(ops)
    lent = {**lender.properties, **lender.attributes}
    name = random_.choice([*held, *(held or _SYMBOLS), *lent, random_.choice(_SYMBOLS)])
    if random_.random() < 0.3:
        held.pop(name, None)
    else:
        held[name] = random_.choice([*(lent.values() if random_.random() < 0.4 else ()), *_attributes()])


def _region(op: Operation, random_: random.Random, ops: Ops) -> None:
    """Drops, adds or empties regions and blocks, of the next op that has some."""
    op = next((other for other in (op, *random_.sample(ops, min(len(ops), 9))) if other.regions), op)
    regions = [*op.regions]
    change = random_.randrange(5)
    if change == 0 or not regions:
        op.add_region(Region(Block() if random_.random() < 0.5 else ()))
        return
    region = random_.choice(regions)
    if change == 1:
        op.detach_region(region)
    elif change == 2:
        region.add_block(Block())
    elif change == 3 and region.blocks:
        block = region.blocks[random_.randrange(len(region.blocks))]
        types = [value.type for value in _values(ops)]
        block.insert_arg(random_.choice(types), random_.randrange(len(block.args) + 1)) if types else None
    elif region.blocks:
        argument = next(iter(region.blocks[0].args), None)
        if argument is not None and not argument.uses:
            region.blocks[0].erase_arg(argument)


def _place(op: Operation, random_: random.Random, ops: Ops) -> None:
    """Moves, copies or erases an op."""
    target = random_.choice(ops)
    if op.parent is None or target.parent is None:
        return
    change = random_.randrange(3)
    if change == 0:
        target.parent.insert_ops_before([op.clone()], target)
    elif change == 1 and not any(around is op for around in _around(target)):
        op.detach()
        target.parent.insert_ops_before([op], target)
    elif not any(result.uses for result in op.results):
        op.detach()


def _around(op: Operation | None) -> list[Operation]:
    found: list[Operation] = []
    while op is not None:
        found.append(op)
        op = op.parent_op()
    return found


# ---------------------------------------------------------------------- of the generic form


def _replaced(text: str, pattern: re.Pattern[str], random_: random.Random, choices: Sequence[str]) -> str:
    """Replaces what one match of the pattern matches: there, or everywhere."""
    found = [*pattern.finditer(text)]
    if not found:
        return text
    match = random_.choice(found)
    own = [other.group() for other in random_.choices(found, k=3)]
    new = random_.choice((*own, random_.choice(choices), random_.choice(choices)))
    if random_.random() < 0.6:
        return text.replace(match.group(), new)
    return text[: match.start()] + new + text[match.end() :]


def _retyped(text: str, random_: random.Random) -> str:
    return _replaced(text, _TYPE, random_, TYPES)


def _resized(text: str, random_: random.Random) -> str:
    return _replaced(text, _SIZE, random_, ("?", "0", "1", "2", "3", "9223372036854775807", "4294967296"))


def _renamed(text: str, random_: random.Random) -> str:
    return _replaced(text, _OP, random_, [f'"{name}"' for name in _op_names()])


def _reordered(text: str, random_: random.Random) -> str:
    """Swaps two lines."""
    lines = text.split("\n")
    one, other = random_.randrange(len(lines)), random_.randrange(len(lines))
    lines[one], lines[other] = lines[other], lines[one]
    return "\n".join(lines)


def _split_block(text: str, random_: random.Random) -> str:
    """Starts another block behind a terminator, which often makes it a block without predecessors."""
    ends = [*_BLOCK_END.finditer(text)]
    if not ends:
        return text
    end = random_.choice(ends)
    return f"{text[: end.end()]}\n  ^bb99:{end.group()}{text[end.end() :]}"


OP_MUTATIONS: tuple[Callable[[Operation, random.Random, Ops], None], ...] = (
    *(_operands, _operands, _attribute, _attribute, _attribute, _region, _place),
)
FORM_MUTATIONS: tuple[Callable[[str, random.Random], str], ...] = (
    *(_retyped, _retyped, _retyped, _resized, _resized, _renamed, _renamed, _reordered, _split_block),
)
