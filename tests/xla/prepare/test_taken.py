"""How programs are taken: the traces of JAX, the rule, and the mark of XLA's steps."""

from __future__ import annotations

import logging
import pickle
from pathlib import Path

import pytest

from shardy_py.api import Options, Program, Result, propagate
from shardy_py.base.releases import NEWEST
from shardy_py.xla.gspmd.missing import remarks_on_missing
from shardy_py.xla.prepare.taken import IN_SHELL, MARK, how_taken
from shardy_py.xla.prepare.written_by_jax import TRACES, verdict

COUNTS = "mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32"
# XLA inlines calls before it propagates.
PLAIN = """module @m attributes {of.module} {
  sdy.mesh @mesh = <["x"=8]>
  func.func public @main(%arg0: tensor<16xf32> {of.argument, sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>})
      -> (tensor<16xf32> {of.result}) {
    %0 = call @twice(%arg0) : (tensor<16xf32>) -> tensor<16xf32>
    return %0 : tensor<16xf32>
  }
  func.func private @twice(%arg0: tensor<16xf32>) -> tensor<16xf32> {
    %0 = stablehlo.add %arg0, %arg0 : tensor<16xf32> loc("of location")
    return %0 : tensor<16xf32>
  }
}
"""
CALL = "%1 = stablehlo.custom_call @Sharding(%0) : (tensor<16xf32>) -> tensor<16xf32>\n    return"
ENOUGH = [
    ("@m", "@jit_step", "the module is named @jit_step"),
    ("of.module", COUNTS, "the module has mhlo.num_partitions and mhlo.num_replicas"),
    (
        "of.module",
        "mhlo.use_auto_spmd_partitioning = false",
        "the module has mhlo.use_auto_spmd_partitioning, as those of HLO",
    ),
    ("of.module", "jax.uses_shape_polymorphism = true", "the module has jax.uses_shape_polymorphism"),
    ("of.argument", "jax.buffer_donor = true", "an argument has jax.buffer_donor"),
    ("of.argument", 'mhlo.memory_kind = "pinned_host"', "an argument has mhlo.memory_kind"),
    ("return", CALL, "it calls @Sharding"),
    ("of location", "jit(f)/add", "an op is located at jit(f)/add"),
]
NOT_ENOUGH = [
    ("of.module", "mhlo.num_partitions = 8 : i32", "the module has mhlo.num_partitions"),
    ("of.result", 'jax.result_info = "y"', "a result has jax.result_info"),
    ("of.argument", "tf.aliasing_output = 0 : i32", "an argument has tf.aliasing_output"),
    ("of.argument", 'mhlo.sharding = "{replicated}"', "an argument has mhlo.sharding"),
    ('<["x"=8]>', '<["x"=8]> {stablehlo.mesh}', "a mesh has stablehlo.mesh"),
]


def _with(*changes: tuple[str, str]) -> str:
    text = PLAIN
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    return text


def _read(text: str) -> Program:
    return Program.parse(text, as_compiled=False)


@pytest.mark.parametrize(("old", "new", "words"), ENOUGH)
def test_one_trace_is_enough(old: str, new: str, words: str) -> None:
    found = verdict(_read(_with((old, new))).module)
    assert (found.is_jax, found.traces) == (True, (words,))


@pytest.mark.parametrize(("old", "new", "words"), NOT_ENOUGH)
def test_one_trace_is_not_enough(old: str, new: str, words: str) -> None:
    module = _read(_with((old, new))).module
    assert (verdict(module).is_jax, verdict(module).traces) == (False, (words,))
    assert how_taken(module).remark(IN_SHELL) == (
        f"taken as written: of JAX, only {words}; --as-compiled takes it as {NEWEST} compiles it"
    )


def test_two_kinds_of_traces_are_enough() -> None:
    text = _with(NOT_ENOUGH[0][:2], NOT_ENOUGH[2][:2])
    assert verdict(_read(text).module).is_jax
    labels = _with(*[(old, new) for old, new, _ in NOT_ENOUGH[1:3]])
    assert not verdict(_read(labels).module).is_jax  # of one kind: the importer of PyTorch writes both


def test_each_kind_of_trace_has_an_example() -> None:
    modules = [_read(_with((old, new))).module for old, new, _ in (*ENOUGH, *NOT_ENOUGH)]
    assert all(any(trace.find(module) for module in modules) for trace in TRACES)
    plain = verdict(_read(PLAIN).module)
    assert (plain.is_jax, plain.traces) == (False, ())


JAX = _with(ENOUGH[0][:2])


def test_every_way_in_takes_a_program_of_jax_as_compiled(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "f.mlir").write_text(JAX)
    written = Program.parse(JAX, as_compiled=False)
    programs = (Program.parse(JAX), Program.load(tmp_path / "f.mlir"), Program.from_module(written.module))
    assert len(caplog.records) == len(programs)
    assert caplog.messages[0] == (
        f"<program>: remark: taken as {NEWEST} compiles it: the module is named @jit_step; "
        "as_compiled=False takes it as written"
    )
    for program in programs:
        assert program.functions == ("main",)
        assert propagate(program).communication().partitioner == "xla"
    assert written.functions == ("main", "twice")
    assert propagate(written).communication().partitioner == "shardy"


def test_other_programs_are_taken_as_written(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        program = Program.parse(PLAIN)
        compiled = Program.parse(PLAIN, as_compiled=True)
    assert caplog.messages == [
        "<program>: remark: taken as written: no trace of JAX; "
        f"as_compiled=True takes it as {NEWEST} compiles it"
    ]
    assert program.functions == ("main", "twice")
    assert compiled.functions == ("main",)
    assert propagate(compiled).communication().partitioner == "xla"


def test_arguments_named_as_parameters_are_those_of_torch() -> None:
    text = """func.func @main(%0: tensor<4xf32> loc("up.weight")) -> (tensor<4xf32> {jax.result_info = "y"}) {
      return %0 : tensor<4xf32>
    }"""
    module = _read(text).module
    words = "arguments have the names of parameters, as those of PyTorch"
    assert how_taken(module).remark(IN_SHELL) == (
        f"taken as written: {words}; --as-compiled takes it as {NEWEST} compiles it"
    )
    (remark,) = remarks_on_missing(module)
    assert "pass --mesh dp=2,tp=4 and --plan plan.py:PLAN" in remark


def test_steps_run_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    program = Program.parse(JAX)
    caplog.clear()
    program.save(tmp_path / "compiled.mlir")
    again = Program.load(tmp_path / "compiled.mlir")
    assert again.taken.remark() == (
        f"taken as {NEWEST} compiles it: the module has {MARK}; as_compiled=False takes it as written"
    )
    assert again.text() == program.text()
    assert not caplog.records  # it was said of the first


def test_a_propagated_program_is_past_the_steps() -> None:
    propagated = propagate(Program.parse(JAX, as_compiled=False)).text()
    program = Program.parse(propagated)
    assert program.text() == propagated
    assert "it is propagated already, so XLA's steps before are left out" in program.taken.remark()
    assert propagate(program).communication().partitioner == "xla"


def test_changed_and_saved_programs_are_taken_as_before(tmp_path: Path) -> None:
    for asked in (True, False):
        result = propagate(Program.parse(JAX, as_compiled=asked), Options())
        result.save(tmp_path / "result.sdy")
        copies = (
            pickle.loads(pickle.dumps(result.source)),
            result.program,
            result.source.copy(),
            result.source.annotate({"%arg0": None}),
            Result.load(tmp_path / "result.sdy").source,
            pickle.loads(pickle.dumps(result)).program,
        )
        assert [copy.taken.is_compiled for copy in copies] == [asked] * len(copies)
        assert Result.load(tmp_path / "result.sdy").text() == result.text()
