"""The reader beside XLA's own, on what XLA makes of the corpus; without jaxlib or corpus: skipped."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from shardy_py.base.errors import ShardyError
from shardy_py.hlo.text import HloModule, read_module, record_of

Corpus = Callable[[str], str]
Words = list[tuple[str, str, tuple[str, ...], str]]


@pytest.fixture(scope="session")
def xla() -> Any:
    return pytest.importorskip("jaxlib._hlo", reason="jaxlib (extra: reference) is not installed")


def translated(text: str) -> str:
    """The program as XLA's HLO text."""
    jax = pytest.importorskip("jaxlib._jax", reason="jaxlib (extra: reference) is not installed")
    made = jax.mlir.mlir_module_to_xla_computation(text, use_tuple_args=False, return_tuple=False)
    return made.as_hlo_text()


def optimized(text: str) -> str:
    """The program as XLA's CPU compiler leaves it: with fusions."""
    jax = pytest.importorskip("jaxlib._jax", reason="jaxlib (extra: reference) is not installed")
    client = pytest.importorskip("jaxlib.xla_client")
    cpu = client.make_cpu_client()
    made = jax.mlir.mlir_module_to_xla_computation(text, use_tuple_args=False, return_tuple=False)
    module = jax.mlir.xla_computation_to_mlir_module(made)
    devices = jax.DeviceList((cpu.devices()[0],))
    options = client.CompileOptions()
    return cpu.compile_and_load(module, devices, options).hlo_modules()[0].to_string()


SHORTENED = {
    "exponential": "exp",
    "exponentialminusone": "expm1",
    "logplusone": "log1p",
    "cosine": "cos",
    "sine": "sin",
    "countleadingzeros": "clz",
    "popcnt": "populationcount",
    "optbarrier": "optimizationbarrier",
}
"""Opcodes whose name in XLA's enumeration is not their word in text."""


def of_xla(module: Any) -> dict[str, Words]:
    """Name, opcode, operands and shape of each instruction as XLA's parser understands them."""
    return {
        computation.name: [
            (
                i.name,
                i.opcode.name.removeprefix("k").lower(),
                tuple(o.name for o in i.operands()),
                without_comments(i.to_string().split(" = ", 1)[1]),
            )
            for i in computation.instructions()
        ]
        for computation in module.computations()
    }


def without_comments(text: str) -> str:
    return re.sub(r"/\*.*?\*/", "", text)


def same(text: str, xla: Any) -> int:
    """The number of instructions compared."""
    ours, theirs = read_module(text), of_xla(xla.hlo_module_from_text(text))
    assert {c.name for c in ours.computations} == set(theirs)
    for computation in ours.computations:
        known = computation.by_name
        assert {name for name, *_ in theirs[computation.name]} == set(known)
        for name, opcode, operands, rest in theirs[computation.name]:
            mine = known[name]
            word = mine.opcode.replace("-", "")
            assert SHORTENED.get(word, word) == opcode
            assert mine.operands == operands
            assert rest.startswith(f"{mine.shape} {mine.opcode}(")
    return sum(map(len, theirs.values()))


def test_translated_programs(corpus_program: str, corpus: Corpus, xla: Any) -> None:
    text = translated(corpus(corpus_program))
    assert same(text, xla) > 10
    again = xla.hlo_module_from_text(text)
    short = again.to_string(xla.HloPrintOptions.short_parsable())
    assert words(read_module(short)) == words(read_module(again.to_string()))


def words(module: HloModule) -> list[tuple[str, tuple[str, ...]]]:
    """Names without their numbers; short forms leave out the layout of scalars and metadata."""
    return [(i.opcode, i.operands) for c in module.computations for i in c.instructions]


def test_every_instruction_is_a_record(corpus_program: str, corpus: Corpus) -> None:
    module = read_module(translated(corpus(corpus_program)))
    for computation in module.computations:
        for instruction in computation.instructions:
            record = record_of(instruction, computation, module.by_name)
            assert len(record.results) == len(list(instruction.shape.leaves()))


SLOW = ("moe", "signal")
"""Programs that XLA compiles for seconds."""


@pytest.mark.parametrize(
    "program",
    ["mlp_train", "decode_kv_cache", *(pytest.param(name, marks=pytest.mark.slow) for name in SLOW)],
)
def test_optimized_programs(program: str, corpus: Corpus, xla: Any) -> None:
    text = optimized(corpus(program))
    assert " fusion(" in text
    assert same(text, xla) > 100


@pytest.mark.parametrize("opcode", ["negate", "copy", "transpose"])
def test_unknown_attributes_are_refused_by_both(opcode: str, xla: Any) -> None:
    body = f"p = f32[2,3] parameter(0)\n  ROOT q = f32[2,3] {opcode}(p), no_such=1"
    text = f"HloModule m\nENTRY e {{\n  {body}\n}}"
    with pytest.raises(ShardyError, match="unknown attribute 'no_such'"):
        read_module(text)
    with pytest.raises(Exception, match="unexpected attribute"):
        xla.hlo_module_from_text(text)
