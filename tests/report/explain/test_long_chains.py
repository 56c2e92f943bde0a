"""Chains through layers that are alike: the text shows one layer, and what was shown above once."""

from __future__ import annotations

from shardy_py import Program, propagate

LAYERS = 8
ARGUMENT = 'tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}'


def _program() -> Program:
    lines = ['sdy.mesh @mesh = <["x"=2]>', f"func.func @main(%v0: {ARGUMENT}) -> tensor<8xf32> {{"]
    for n in range(LAYERS):
        for at, (name, line) in enumerate((("tanh", 7), ("negate", 8))):
            location = f'loc("layer_{n}"("model.py":{line}:3))'
            number = 2 * n + at
            lines.append(f"  %v{number + 1} = stablehlo.{name} %v{number} : tensor<8xf32> {location}")
    return Program.parse("\n".join([*lines, f"  return %v{2 * LAYERS} : tensor<8xf32>", "}"]))


def test_a_chain_shows_one_of_the_layers_that_are_alike() -> None:
    result = propagate(_program())
    last = [*result.values][2 * LAYERS]
    text = str(result.explain(last))
    (explanation,) = result.explain(last)
    assert len(explanation.axes[0].chains[0].links) == 2 * LAYERS
    assert text.count("-> %") == 3
    assert f"-> ... {2 * LAYERS - 3} tensors on lines above, up to %{2 * LAYERS - 2} = stablehlo.tanh" in text


def test_links_of_another_value_above_are_not_repeated() -> None:
    text = str(propagate(_program()).explain("model.py:8"))
    first, *others = text.split("\n\n")
    assert first.count("-> %") == 2
    assert not others


def test_short_chains_are_shown_whole() -> None:
    result = propagate(_program())
    assert "..." not in str(result.explain([*result.values][3]))
