"""The text of a line with many values is an outline: annotations and names on their ways."""

from __future__ import annotations

from shardy_py import Program, propagate
from shardy_py.report.explain import Explanations

_TYPE = "tensor<8xf32>"


def _explained(values: int, steps: int) -> Explanations:
    """Values of one line, each the last of a chain of ops from its own argument."""
    sharded = f'{_TYPE} {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}]>}}'
    arguments = ", ".join(f"%a{n}_0: {sharded}" for n in range(values))
    lines = [
        'sdy.mesh @mesh = <["x"=2]>',
        f"func.func @main({arguments}) -> ({', '.join([_TYPE] * values)}) {{",
    ]
    for n in range(values):
        for at in range(1, steps + 1):
            line = 7 if at == steps else 100 + at + n * steps
            what = f"%a{n}_{at} = stablehlo.tanh %a{n}_{at - 1} : {_TYPE}"
            lines.append(f'  {what} loc("f/{"xyz"[n % 3] * (n + 1)}"("model.py":{line}:3))')
    returned = ", ".join(f"%a{n}_{steps}" for n in range(values))
    lines += [f"  return {returned} : {', '.join([_TYPE] * values)}", "}"]
    return propagate(Program.parse("\n".join(lines))).explain("model.py:7")


def test_few_values_are_explained_step_by_step() -> None:
    text = str(_explained(2, 3))
    assert text.count("i: dim 0 of operand 0") == 6
    assert "Each step" not in text


def test_many_values_have_an_outline() -> None:
    found = _explained(6, 20)
    lines = str(found).split("\n")
    assert len(found) == 6
    assert len(lines) == 6 * 4 + 1
    first, sharding, axis, way = lines[:4]
    assert first == "%19 = stablehlo.tanh : tensor<8xf32>  [model.py:7:3 f/x]"
    assert sharding == '  sharding <@mesh, [{"x"}]>'
    assert axis == '    dim 0 along x from the argument sharding of %arg0 <@mesh, [{"x"}]>  [<program>:2:17]'
    names = "%0 -> %1 -> %2 -> %3 -> %4 -> %5 -> ... 8 more -> %14 -> %15 -> %16 -> %17 -> %18 -> %19"
    assert way == f"      -> {names}"
    assert lines[-1] == "Each step is in the explanation of one value, such as %19."


def test_a_way_that_began_above_is_shown_from_there() -> None:
    body = "".join(
        f'  %{n} = stablehlo.tanh %{n - 1 if n else "a"} : {_TYPE} loc("f/{"x" * (n + 1)}"("model.py":7:3))\n'
        for n in range(40)
    )
    head = f'func.func @main(%a: {_TYPE} {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}]>}}) -> {_TYPE} {{\n'
    program = Program.parse(f'sdy.mesh @mesh = <["x"=2]>\n{head}{body}  return %39 : {_TYPE}\n}}')
    lines = str(propagate(program).explain("model.py:7")).split("\n")
    assert lines[-2] == "      -> ... -> %38 -> %39"
