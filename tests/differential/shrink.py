"""Makes a program that fails smaller while it keeps failing: `shrink(text, fails)`.

Ops are taken out one by one (what they gave becomes an operand of theirs or an argument of the function),
then results and arguments, then what shardings say. Hypothesis does the same to the choices behind a program,
but a seed of the runner has none to shrink.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.traits import IsTerminator

from shardy_py.base.errors import ShardyError
from shardy_py.mlir.dialects import parse_module, print_module
from shardy_py.mlir.dialects.verification import verify_module

Fails = Callable[[str], bool]
SHARDING = re.compile(r"<@\w+, \[[^\]]*\][^>]*>")
SIMPLER = (
    (r', replicated=\{"[^}]*\}', ""),
    (r', unreduced=\{"[^}]*\}', ""),
    (r"\}p\d+", "}"),
    (r', "[^"]*"(:\(\d+\)\d+)?', ""),
    (r'"[^"]*"(:\(\d+\)\d+)?, ', ""),
    (r'\{"[^"]*"(:\(\d+\)\d+)?\}', "{}"),
    (r":\(\d+\)\d+", ""),
)
"""Parts of a sharding and what may stand there instead."""
ATTRIBUTE = re.compile(r" ?\{?sdy\.sharding = #sdy\.sharding(_per_value<\[[^\n]*?>\]>|<[^>]*>)\}?")


def shrink(text: str, fails: Fails, attempts: int = 1000) -> str:
    """The smallest program found that still `fails`; `text` itself must. Bounded by a count of trials."""
    before = ""
    tried: set[str] = set()
    while before != text:
        before = text
        for edits in (_without_ops, _without_results, _without_arguments, _simpler_shardings):
            number = 0
            while (smaller := _nth(edits(text), number)) is not None:
                if smaller and smaller not in tried and len(tried) < attempts:
                    tried.add(smaller)
                    if fails(smaller):
                        text = smaller
                        continue
                number += 1
    return text


def _nth(found: Iterator[str], number: int) -> str | None:
    for i, text in enumerate(found):
        if i == number:
            return text
    return None


def _without_ops(text: str) -> Iterator[str]:
    """The program without one of its ops; "" where none can do without it."""
    count = sum(1 for _ in parse_module(text).walk())
    for number in range(count - 1, 0, -1):
        module = parse_module(text)
        op = list(module.walk())[number]
        yield _checked(module) if _take_out(op) else ""


def _take_out(op: Operation) -> bool:
    if op.has_trait(IsTerminator) or (isinstance(op, FuncOp) and op.sym_name.data == "main"):
        return False
    block = op.parent
    assert block is not None
    for result in op.results:
        if not result.uses:
            continue
        value = next((v for v in op.operands if v.type == result.type), None) or _argument(block, result.type)
        if value is None:
            return False
        result.replace_all_uses_with(value)
    op.detach()
    op.erase()
    return True


def _argument(block: Block, kind: Attribute) -> SSAValue | None:
    """An argument of that type, of the function a new one."""
    function = block.parent_op()
    if isinstance(function, FuncOp) and function.sym_name.data == "main":
        made = block.insert_arg(kind, len(block.args))
        _set_type(function, [*_dictionaries(function.arg_attrs, len(block.args) - 1), DictionaryAttr({})])
        return made
    return next((argument for argument in block.args if argument.type == kind), None)


def _without_results(text: str) -> Iterator[str]:
    """Main without one of its results."""
    count = len(_ending(_main(parse_module(text))).operands)
    for number in range(count - 1, -1, -1):
        module = parse_module(text)
        function = _main(module)
        ending = _ending(function)
        attributes = _dictionaries(function.res_attrs, count)
        ending.operands = [v for i, v in enumerate(ending.operands) if i != number]
        _set_type(function, None, [a for i, a in enumerate(attributes) if i != number])
        yield _checked(module)


def _without_arguments(text: str) -> Iterator[str]:
    """Main without an argument that nothing reads."""
    count = len(_main(parse_module(text)).body.block.args)
    for number in range(count - 1, -1, -1):
        module = parse_module(text)
        function = _main(module)
        block = function.body.block
        if block.args[number].uses:
            yield ""
            continue
        attributes = _dictionaries(function.arg_attrs, count)
        block.erase_arg(block.args[number])
        _set_type(function, [a for i, a in enumerate(attributes) if i != number])
        yield _checked(module)


def _simpler_shardings(text: str) -> Iterator[str]:
    for pattern in (ATTRIBUTE, re.compile(r"^ *sdy\.mesh .*\n", re.MULTILINE)):
        for match in pattern.finditer(text):
            yield _read(text[: match.start()] + text[match.end() :])
    for match in SHARDING.finditer(text):
        for pattern, simple in SIMPLER:
            for part in re.finditer(pattern, match[0]):
                simpler = match[0][: part.start()] + simple + match[0][part.end() :]
                yield _read(text[: match.start()] + simpler + text[match.end() :])


def _read(text: str) -> str:
    try:
        return _checked(parse_module(text))
    except ShardyError:
        return ""


def _checked(module: ModuleOp) -> str:
    try:
        verify_module(module)
    except ShardyError:
        return ""
    return print_module(module)


def _main(module: ModuleOp) -> FuncOp:
    return next(op for op in module.body.block.ops if isinstance(op, FuncOp) and op.sym_name.data == "main")


def _ending(function: FuncOp) -> ReturnOp:
    last = function.body.block.last_op
    assert isinstance(last, ReturnOp)
    return last


def _dictionaries(attributes: Attribute | None, count: int) -> list[Attribute]:
    return list(attributes.data) if isinstance(attributes, ArrayAttr) else [DictionaryAttr({})] * count


def _set_type(
    function: FuncOp,
    arguments: list[Attribute] | None = None,
    results: list[Attribute] | None = None,
) -> None:
    """Makes the type of a function that of its body; the attributes of arguments and results if given."""
    block = function.body.block
    kinds = [argument.type for argument in block.args], [v.type for v in _ending(function).operands]
    function.properties["function_type"] = FunctionType.from_lists(*kinds)
    for name, attributes in (("arg_attrs", arguments), ("res_attrs", results)):
        if attributes is not None:
            function.properties[name] = ArrayAttr(attributes)
