"""Values of equal layers have one explanation."""

from __future__ import annotations

from shardy_py import Program, propagate


def _program(layers: int) -> str:
    head = 'sdy.mesh @mesh = <["x"=2]>\nfunc.func @main(%a0: tensor<8xf32> {sdy.sharding = '
    body = "".join(
        f'  %a{n + 1} = stablehlo.tanh %a{n} : tensor<8xf32> loc("jit(f)/layer_{n}/tanh"("model.py":7:3))\n'
        for n in range(layers)
    )
    sharding = '#sdy.sharding<@mesh, [{"x"}]>})'
    return f"{head}{sharding} -> tensor<8xf32> {{\n{body}  return %a{layers} : tensor<8xf32>\n}}"


def test_a_line_of_many_layers_has_one_answer() -> None:
    (found,) = propagate(Program.parse(_program(9))).explain("model.py:7")
    assert found.alike == tuple(f"%{n}" for n in range(1, 9))
    assert "x9: alike in other layers are %1, %2, %3, %4 and 4 more" in str(found)


def test_other_types_are_apart() -> None:
    text = _program(2).replace("jit(f)/layer_1", "jit(f)/other/layer_1")
    assert len(propagate(Program.parse(text)).explain("model.py:7")) == 2
