"""The corpus reads and prints byte for byte, in pretty and generic form, with and without locations; fast."""

from __future__ import annotations

from pathlib import Path

import pytest

from shardy_py.mlir.dialects import parse_module, print_module
from shardy_py.mlir.text.cursor import TOKEN

CORPUS = Path(__file__).resolve().parents[3] / ".." / "shared" / "corpus"
PROGRAMS = sorted(path.name for path in CORPUS.glob("*.mlir")) if CORPUS.exists() else []
"""How much slower than the aim a loaded machine may be."""

needs_corpus = pytest.mark.skipif(not PROGRAMS, reason="the shared corpus is not there")


@needs_corpus
@pytest.mark.parametrize("name", PROGRAMS)
def test_pretty(name: str) -> None:
    text = (CORPUS / name).read_text("utf-8")
    assert print_module(parse_module(text)).rstrip("\n") == text.rstrip("\n")


@needs_corpus
@pytest.mark.slow  # `test_corpus_roundtrip.py` does so with all but the largest
@pytest.mark.parametrize("name", PROGRAMS)
def test_generic(name: str) -> None:
    text = (CORPUS / name).read_text("utf-8")
    generic = print_module(parse_module(text), generic=True)
    again = parse_module(generic)
    assert print_module(again, generic=True) == generic
    assert print_module(again).rstrip("\n") == text.rstrip("\n")


@needs_corpus
@pytest.mark.parametrize("name", ["calls.mlir", "convnet_train.mlir", "scan_transformer.mlir", "linalg.mlir"])
def test_as_the_reference_prints(name: str) -> None:
    ir = pytest.importorskip("jaxlib.mlir.ir", reason="jaxlib holds the C++ reference")
    from jaxlib.mlir._mlir_libs import _jax_mlir_ext
    from jaxlib.mlir.dialects import chlo, sdy, stablehlo

    text = (CORPUS / name).read_text("utf-8")
    registry = ir.DialectRegistry()
    _jax_mlir_ext.register_dialects(registry)
    context = ir.Context()
    context.append_dialect_registry(registry)
    context.enable_multithreading(False)
    for register in (chlo.register_chlo_dialect, sdy.register_dialect, stablehlo.register_dialect):
        register(context)
    context.load_all_available_dialects()
    with context:
        operation = ir.Module.parse(text).operation
        generic = operation.get_asm(print_generic_op_form=True)
        located = operation.get_asm(enable_debug_info=True)
    ours = parse_module(text)
    assert print_module(ours, generic=True).rstrip("\n") == generic.rstrip("\n")
    assert print_module(ours, debuginfo=True).rstrip("\n") == located.rstrip("\n")
    assert print_module(parse_module(located), debuginfo=True).rstrip("\n") == located.rstrip("\n")


def test_one_expression_finds_all_tokens() -> None:
    text = '%0 = "foo.a"(%1) {x = 1 : i32} : (i32) -> i32\n' * 16_000
    tokens = TOKEN.findall(text)
    assert len(tokens) > 300_000
    assert tokens[:4] == ["%0", "=", '"foo.a"', "("]
