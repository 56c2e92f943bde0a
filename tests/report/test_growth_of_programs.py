"""What is done with a program of n alike parts costs as much as it has parts, in executed lines."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from xdsl.ir import SSAValue
from xdsl.ir.core import SSAValues

from shardy_py import Program, Result, propagate
from shardy_py.mlir.ir import changing
from shardy_py.passes.pipelines import before_propagation_passes
from shardy_py.passes.runner import run_passes
from shardy_py.xla.buffers.stored import StoredBlock
from shardy_py.xla.spmd.program import Block
from tests.report.executed_lines import executed_lines

ROW = "tensor<8xf32>"
SHARDED = '{sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}'


def _program(body: list[str], results: list[str], functions: str = "", sharding: str = SHARDED) -> Program:
    lines, types = "\n  ".join(body), ", ".join([ROW] * len(results))
    text = f"""
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%a: {ROW} {sharding}, %b: {ROW} {sharding}) -> ({types}) {{
  {lines}
  return {", ".join(results)} : {types}
}}
{functions}"""
    return Program.parse(text)


def _constraints(n: int) -> Program:
    """n constraints on one value, along two axes in turn."""
    body = [f'%{i} = sdy.sharding_constraint %a <@mesh, [{{"{"xy"[i % 2]}"}}]> : {ROW}' for i in range(n)]
    return _program(body, [f"%{i}" for i in range(n)])


def _reshards(n: int) -> Program:
    """n reshards of one value, along two axes in turn."""
    body = [f'%{i} = sdy.reshard %a <@mesh, [{{"{"xy"[i % 2]}"}}]> : {ROW}' for i in range(n)]
    return _program(body, [f"%{i}" for i in range(n)])


def _slices(n: int) -> Program:
    """n equal slices of one sum."""
    reduced, sliced = "out_sharding=<@mesh, [{}]>", 'out_sharding=<@mesh, [{"y"}]>'
    body = [f'%s = sdy.all_reduce {{"y"}} %a {reduced} : {ROW}']
    body += [f'%{i} = sdy.all_slice [{{"y"}}] %s {sliced} : {ROW}' for i in range(n)]
    return _program(body, [f"%{i}" for i in range(n)], sharding="")


def _loops(n: int) -> Program:
    """n loops, each of which uses the same value from outside."""
    body = ["%c = stablehlo.constant dense<0> : tensor<i32>"]
    for i in range(n):
        body += [
            f"%r{i}:2 = stablehlo.while(%i = %c, %v = {f'%r{i - 1}#1' if i else '%a'}) : tensor<i32>, {ROW}",
            "cond {",
            "  %p = stablehlo.compare LT, %i, %i : (tensor<i32>, tensor<i32>) -> tensor<i1>",
            "  stablehlo.return %p : tensor<i1>",
            "} do {",
            f"  %w = stablehlo.add %v, %b : {ROW}",
            f"  stablehlo.return %i, %w : tensor<i32>, {ROW}",
            "}",
        ]
    return _program(body, [f"%r{n - 1}#1"])


def _functions(n: int) -> Program:
    """n functions with a collective each, called one after the other."""
    body = [f"%{i} = call @f{i}(%{i - 1 if i else 'a'}) : ({ROW}) -> {ROW}" for i in range(n)]
    functions = (
        f"func.func private @f{i}(%x: {ROW}) -> {ROW} {{\n"
        f'  %0 = sdy.sharding_constraint %x <@mesh, [{{"{"xy"[i % 2]}"}}]> : {ROW}\n  return %0 : {ROW}\n}}\n'
        for i in range(n)
    )
    return _program(body, [f"%{n - 1}"], "".join(functions))


def _chain(n: int) -> Program:
    """n functions, each of which calls the next one."""
    calls = [f"  %0 = call @f{i + 1}(%x) : ({ROW}) -> {ROW}\n  return %0" for i in range(n - 1)]
    functions = (
        f"func.func private @f{i}(%x: {ROW}) -> {ROW} {{\n{body} : {ROW}\n}}\n"
        for i, body in enumerate([*calls, "  return %x"])
    )
    return _program([f"%0 = call @f0(%a) : ({ROW}) -> {ROW}"], ["%0"], "".join(functions))


def _propagated(program: Callable[[int], Program]) -> Callable[[int], Result]:
    return lambda n: propagate(program(n), progress=False)


def _partition(result: Result) -> object:
    return result.partition().text()


def _prove(result: Result) -> object:
    return result.partition().prove(shapes="ops")


def _canonicalize(program: Program) -> object:
    return program.run("canonicalize")


def _compile(program: Program) -> object:
    return run_passes(program.copy().module, before_propagation_passes())


def _explore(result: Result) -> object:
    return result.model_explorer().text()


@pytest.mark.parametrize(
    ("program", "work", "where"),
    [
        (_propagated(_constraints), _partition, ""),
        (_reshards, _canonicalize, ""),
        (_slices, _canonicalize, ""),
        (_loops, _compile, "xla/prepare/loops.py"),
        (_propagated(_loops), _explore, "viewer/model_graph/"),
        (_propagated(_loops), _prove, "run/proof/cutting.py"),
        (_propagated(_functions), _explore, "viewer/model_graph/"),
        (_propagated(_functions), _partition, "mlir/symbols.py"),
        (_chain, propagate, "mlir/ir/op_index.py"),
    ],
)
def test_the_cost_is_linear(
    program: Callable[[int], object], work: Callable[[object], object], where: str
) -> None:
    work(program(2))
    small, large = (program(n) for n in (25, 75))
    assert executed_lines(lambda: work(large), where) < 3.6 * executed_lines(lambda: work(small), where)


def test_a_region_is_given_the_sizes_of_what_it_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    given = 0
    inside = StoredBlock.inside

    def counted(self: StoredBlock, inner: Block) -> StoredBlock:
        nonlocal given
        made = inside(self, inner)
        given += len(made.sizes)
        return made

    monkeypatch.setattr(StoredBlock, "inside", counted)
    sizes = list[int]()
    for n in (20, 40):
        given = 0
        _ = propagate(_loops(n), progress=False).memory("tpu-v5e", partitioner="xla").memory_bytes
        sizes.append(given)
    assert 0 < sizes[1] < 2.5 * sizes[0]


def _wide_call(n: int) -> Program:
    """A custom call with n results, each of which is gathered."""
    types = ", ".join([ROW] * n)
    called = f"%0:{n} = stablehlo.custom_call @f({', '.join(['%a'] * n)}) : ({types}) -> ({types})"
    return _program([called], [f"%0#{i}" for i in range(n)])


@pytest.mark.parametrize("program", [_wide_call, _constraints])
def test_operands_of_ops_with_many_are_set_together(
    program: Callable[[int], Program], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each time they are set, all are copied."""
    sizes = list[int]()

    def copied(values: Sequence[SSAValue]) -> SSAValues:
        sizes.append(len(values))
        return SSAValues(values)

    monkeypatch.setattr(changing, "SSAValues", copied)
    counts = list[int]()
    for n in (20, 40):
        result = propagate(program(n), progress=False)
        sizes.clear()
        result.partition().text()
        counts.append(sum(size >= 16 for size in sizes))
    assert 0 < counts[1] == counts[0]
