"""What is written in place is copied before where something else still needs it."""

from __future__ import annotations

import pytest

from shardy_py import Program, propagate

UPDATE = """func.func @main(%cache: tensor<1024x1024xf32>{donated}, %new: tensor<1x1024xf32>, %i: tensor<i32>)
    -> {types} {{
  %0 = stablehlo.dynamic_update_slice %cache, %new, %i, %i
      : (tensor<1024x1024xf32>, tensor<1x1024xf32>, tensor<i32>, tensor<i32>) -> tensor<1024x1024xf32>
  {more}
  return {results} : {types_of_results}
}}"""
CACHE = "tensor<1024x1024xf32>"
COPY = 2 * 4 * 1024 * 1024


@pytest.mark.parametrize(
    ("donated", "more", "results", "copied"),
    [
        (" {jax.buffer_donor = true}", "", ["%0"], 0),
        ("", "", ["%0"], COPY),  # the caller keeps it
        (" {jax.buffer_donor = true}", f"%1 = stablehlo.tanh %cache : {CACHE}", ["%0", "%1"], COPY),
    ],
)
def test_an_update_copies_what_is_needed_later(
    donated: str, more: str, results: list[str], copied: int
) -> None:
    types = ", ".join([CACHE] * len(results))
    text = UPDATE.format(
        donated=donated, types=f"({types})", more=more, results=", ".join(results), types_of_results=types
    )
    nodes = [node for node, _ in propagate(Program.parse(text)).time("h100").nodes()]
    assert [node.bytes for node in nodes if node.name == "copy"] == [copied][: bool(copied)]
