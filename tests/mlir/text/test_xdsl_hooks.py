"""xDSL's own parser, printer and `verify` on our dialects: the corpus, and all inputs of filecheck."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path

import pytest
from xdsl.context import Context
from xdsl.dialects import get_all_dialects
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import DiagnosticException, ParseError

from shardy_py.base.errors import ShardyError
from shardy_py.mlir.dialects import parse_module, print_module
from shardy_py.mlir.dialects.registry import DIALECTS
from shardy_py.mlir.dialects.verification import find_faults

FILECHECK = Path(__file__).resolve().parents[3] / "filecheck"
UNKNOWN = {
    FILECHECK / "driver" / "mhlo.mlir",
    FILECHECK / "passes" / "xla_sdy_stablehlo_round_trip_shard_map_import_copies.mlir",
}
"""Programs with ops that our reader takes for those of StableHLO, and xDSL does not know."""
SLOW = ("transformer_train_12", "transformer_train_48")
"""Programs that xDSL's parser needs minutes for; they have the ops of `transformer_train`."""


@cache
def context() -> Context:
    """A plain context of xDSL with our dialects; nothing unregistered."""
    made = Context()
    for name, factory in {**get_all_dialects(), **DIALECTS}.items():
        made.register_dialect(name, factory)
    return made


def parsed(text: str) -> ModuleOp:
    return Parser(context(), text).parse_module()


def printed(op: Operation) -> str:
    stream = io.StringIO()
    Printer(stream).print_op(op)
    return stream.getvalue()


@pytest.mark.parametrize(
    "suffix",
    [pytest.param("", marks=pytest.mark.slow), ".propagated"],  # which has all that the input has
    ids=["input", "propagated"],
)
def test_corpus(corpus_program: str, suffix: str, corpus: Callable[[str], str]) -> None:
    if corpus_program in SLOW:
        pytest.skip("too large for xDSL's parser; its ops are those of transformer_train")
    text = corpus(corpus_program + suffix)
    module = parsed(text)
    module.verify()
    assert print_module(parse_module(printed(module))) == print_module(parse_module(text))


# ---------------------------------------------------------------------- inputs of filecheck


@cache
def chunks() -> Sequence[tuple[str, ModuleOp, str]]:
    """The programs of filecheck that our reader accepts and that have ops: file, module, text."""
    return tuple(_chunks())


def _chunks() -> Iterator[tuple[str, ModuleOp, str]]:
    for path in sorted(set(FILECHECK.rglob("*.mlir")) - UNKNOWN):
        for index, chunk in enumerate(re.split(r"^// -----.*\n", path.read_text(), flags=re.MULTILINE)):
            try:
                module = parse_module(chunk)
            except ShardyError:
                continue
            if any(region.block.first_op for region in module.regions if len(region.blocks) == 1):
                yield f"{path.relative_to(FILECHECK)}/{index}", module, chunk


def loses_attributes(module: ModuleOp) -> bool:
    """Whether xDSL's `func.func` drops what the module says: attributes of arguments of declarations."""
    return any(
        op.name == "func.func" and "arg_attrs" in op.properties and not op.regions[0].blocks
        for op in module.body.ops
    )


def test_valid_inputs_of_filecheck() -> None:
    tried = 0
    for name, module, text in chunks():
        if find_faults(module) or loses_attributes(module):
            continue
        tried += 1
        read = parsed(text)
        read.verify()
        assert print_module(parse_module(printed(read))) == print_module(module), name
    assert tried > 150


UNCHECKED = (
    "'builtin.",
    "'func.",
    "does not dominate this use",
    "redefinition of symbol",
    "using value defined outside",
)
"""Faults that xDSL's `verify` does not look for: of other dialects' ops, of regions and symbol tables."""

IN_OTHER_WORDS = ("type of return operand", "block with no terminator", "must be the last operation")
"""Faults that xDSL finds itself, before the verifier of the op."""


def test_invalid_inputs_of_filecheck() -> None:
    tried = 0
    for name, module, text in chunks():
        messages = [fault.message for fault in find_faults(module)]
        messages = [m for m in messages if not any(words in m for words in UNCHECKED)]
        if not messages:
            continue
        tried += 1
        with pytest.raises(DiagnosticException) as caught:
            parsed(text).verify()
        if not any(words in message for words in IN_OTHER_WORDS for message in messages):
            assert any(message in str(caught.value) for message in messages), name
    assert tried > 150


# ---------------------------------------------------------------------- text and ops that are wrong


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("sdy.mesh @m = <[x=2]>", "1:17", "custom op 'sdy.mesh' expected string"),
        (
            "func.func @f(%x: i32) {\n  %0 = stablehlo.abs %x, %x : i32\n  return\n}",
            "2:24",
            "expected ':'",
        ),
        ('module attributes {a.b = #sdy.sharding<@m, [{"x"]>} {}', "1:49", "expected ','"),
        ("module attributes {a.b = !stablehlo.future<i32>} {}", "1:43", "future element type"),
    ],
)
def test_mistakes_have_a_place(text: str, place: str, message: str) -> None:
    with pytest.raises(ParseError) as caught:
        parsed(text)
    assert f"<unknown>:{place}\n" in str(caught.value)
    assert message in str(caught.value)


def test_forward_references_and_aliases() -> None:
    text = """\
#axes = #sdy.sharding<@m, [{"x"}]>
!t = tensor<8xf32>
sdy.mesh @m = <["x"=2]>
func.func @f(%c: i1, %x: !t) -> !t {
  cf.br ^bb2
^bb1:
  %1 = stablehlo.abs %0 {a = #axes} : !t
  return %1 : !t
^bb2:
  %0 = sdy.reshard %x <@m, [{"x"}]> : !t
  cf.br ^bb1
}
"""
    assert print_module(parse_module(printed(parsed(text)))) == print_module(parse_module(text))


def test_an_incomplete_op_prints() -> None:
    op = context().get_op("stablehlo.reduce").create()
    assert printed(op) == "stablehlo.reduce() : () -> ()"


def test_an_op_in_no_module_is_checked_by_itself() -> None:
    text = """\
%0 = stablehlo.constant dense<0.0> : tensor<8xf32>
%1 = sdy.reshard %0 <@nowhere, [{}]> : tensor<8xf32>
"""
    _, reshard = parsed(text).body.ops
    with pytest.raises(DiagnosticException, match="nowhere"):
        reshard.verify()
    reshard.detach()
    reshard.verify()
