"""Reports on an op with many tensors, or a chain of ops, cost as much as it has, in executed lines."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from shardy_py import Program, Result, propagate
from shardy_py.check import check
from shardy_py.mlir.value_table import ValueTable
from shardy_py.report.difference import difference
from shardy_py.report.matching import matched
from tests.report.executed_lines import executed_lines

ROW = "tensor<8xf32>"


def _program(body: str, result: str, type_: str = ROW) -> Result:
    text = f"""
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: {ROW} {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}]>}}) -> {type_} {{
  {body}
  return {result} : {type_}
}}"""
    return propagate(Program.parse(text))


def _results(n: int) -> Result:
    operands, types = ", ".join(["%a"] * n), ", ".join([ROW] * n)
    return _program(f"%0:{n} = stablehlo.optimization_barrier {operands} : {types}", "%0#0")


def _concatenation(n: int) -> Result:
    whole = f"tensor<{8 * n}xf32>"
    types = ", ".join([ROW] * n)
    body = f"%0 = stablehlo.concatenate {', '.join(['%a'] * n)}, dim = 0 : ({types}) -> {whole}"
    return _program(body, "%0", whole)


def _arguments(n: int) -> Result:
    arguments = (f'%a{i}: {ROW} {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}]>}}' for i in range(n))
    lines = 'sdy.mesh @mesh = <["x"=2]>', f"func.func @main({', '.join(arguments)}) {{", "  return", "}"
    return propagate(Program.parse("\n".join(lines)))


def _branches(n: int) -> Result:
    region = f"{{ %w = stablehlo.tanh %a : {ROW}\n stablehlo.return %w : {ROW} }}"
    body = f"""%c = stablehlo.constant dense<0> : tensor<i32>
  %0 = "stablehlo.case"(%c) ({", ".join([region] * n)}) : (tensor<i32>) -> {ROW}"""
    return _program(body, "%0")


def _manual(n: int) -> Result:
    types, local = ", ".join([ROW] * n), ", ".join(["tensor<4xf32>"] * n)
    shardings = ", ".join(['<@mesh, [{"x"}]>'] * n)
    arguments = ", ".join(f"%x{i}: tensor<4xf32>" for i in range(n))
    body = f"""%0:{n} = sdy.manual_computation({", ".join(["%a"] * n)}) in_shardings=[{shardings}]
      out_shardings=[{shardings}] manual_axes={{"x"}} ({arguments}) {{
    sdy.return {", ".join(f"%x{i}" for i in range(n))} : {local}
  }} : ({types}) -> ({types})"""
    return _program(body, "%0#0")


def _unsharded(n: int) -> Result:
    lines = (f"%{at + 1} = stablehlo.tanh %{at} : {ROW}" for at in range(n))
    return _program("\n".join((f"%0 = stablehlo.constant dense<0.0> : {ROW}", *lines)), f"%{n}")


def _reshards(n: int) -> Result:
    axes = '"x"', ""
    body = (
        f"%{i} = sdy.sharding_constraint %{i - 1 if i else 'a'} <@mesh, [{{{axes[i % 2]}}}]> : {ROW}"
        for i in range(n)
    )
    return _program("\n".join(body), f"%{n - 1}")


def _barriers(n: int) -> Result:
    body = (
        f"%{i} = sdy.propagation_barrier %{i - 1 if i else 'a'} allowed_direction=FORWARD : {ROW}"
        for i in range(n)
    )
    return _program("\n".join(body), f"%{n - 1}")


def _sums(n: int) -> Result:
    """One op in the end computes them all, from n stored tensors."""
    operands, types = ", ".join(["%a"] * n), ", ".join([ROW] * n)
    lines = (f"%{i + 1} = stablehlo.add %{i}, %w#{i} : {ROW}" for i in range(n))
    stored = f"%w:{n} = stablehlo.optimization_barrier {operands} : {types}"
    return _program("\n".join((stored, f"%0 = stablehlo.tanh %a : {ROW}", *lines)), f"%{n}")


def _diff(result: Result) -> object:
    return difference(ValueTable(result.source.module), ValueTable(result.program.module))


def _explain(result: Result) -> object:
    return result.explain(result.values[-1])


def _propagate(result: Result) -> object:
    return propagate(result.source)


def _shapes(result: Result) -> object:
    return [value.local_shape for value in result.values]


def _communication(result: Result) -> object:
    return result.communication()


def _time(result: Result) -> object:
    return result.time("tpu-v5p")


def _memory(result: Result) -> object:
    return result.memory("tpu-v5e").estimate


def _why_not_all(result: Result) -> object:
    return [result.why_not(value, 0, "x") for value in result.values if value.shape]


def _shardings(result: Result) -> object:
    return [value.sharding for value in result.values]


@pytest.mark.parametrize(
    ("program", "report"),
    [
        (_arguments, _shardings),
        (_arguments, _diff),
        (_results, _diff),
        (_results, check),
        (_concatenation, _explain),
        (_branches, _explain),
        (_manual, _propagate),
        (_manual, _communication),
        (_manual, _shapes),
        (_manual, _diff),
        (_manual, check),
        (_unsharded, _why_not_all),
        (_reshards, _communication),
        (_barriers, _communication),
    ],
)
def test_the_cost_is_linear(program: Callable[[int], Result], report: Callable[[Result], object]) -> None:
    report(program(2))
    small, large = (program(n) for n in (60, 240))
    assert executed_lines(lambda: report(large)) < 5 * executed_lines(lambda: report(small))


def test_sequences_with_nothing_in_common_are_compared_in_linear_time() -> None:
    small, large = (executed_lines(lambda n=n: matched(range(n), range(n, 2 * n), n // 2)) for n in (60, 240))
    assert large < 5 * small


@pytest.mark.parametrize("report", [_time, _memory])
def test_chains_are_fused_in_linear_time(report: Callable[[Result], object]) -> None:
    """A part of the report that is small for short chains."""
    small, large = (_sums(n) for n in (60, 240))
    file = "xla/buffers/fusion.py"
    lines = [executed_lines(lambda of=of: report(of), file) for of in (small, large)]
    assert 0 < lines[1] < 5 * lines[0]


def test_plain_dimensions_of_a_type_are_read_together() -> None:
    rank = 1000
    text = f"func.func private @f(tensor<{'2x' * rank}f32>)"
    assert executed_lines(lambda: Program.parse(text), "mlir/text/type_reader.py") < 3 * rank
