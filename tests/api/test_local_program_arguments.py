"""Wrong arguments of `LocalProgram`: each gives a diagnostic, with the names of the file."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np
import pytest

from shardy_py import Program, ShardyError, propagate
from shardy_py.api.local_program import LocalProgram
from tests.run.proof.mutations.broken import Subject

TEXT = """sdy.mesh @mesh = <["data"=2, "model"=2]>
func.func @main(%x: tensor<6x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>},
                %w: tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}]>},
                %ids: tensor<6xi32>) -> tensor<6x8xf32> {
  %product = stablehlo.dot %x, %w : (tensor<6x4xf32>, tensor<4x8xf32>) -> tensor<6x8xf32>
  %out = stablehlo.tanh %product : tensor<6x8xf32>
  return %out : tensor<6x8xf32>
}"""
X, W, IDS = np.zeros((6, 4), np.float32), np.zeros((4, 8), np.float32), np.zeros(6, np.int32)


@cache
def local() -> LocalProgram:
    return propagate(Program.parse(TEXT)).partition()


SHAPES = "expected one of 'auto', 'own', 'small', 'ops'"
ORDER = "inputs: expected arrays in order, or by argument, got "
LIMIT = "expected an integer, 1 or above, got "
PROOFS: list[tuple[dict[str, Any], str]] = [
    *(({"seed": seed}, "seed: expected an integer, 0 or above, got ") for seed in ("3", -1, 1.5, True, None)),
    *(({"shapes": shapes}, SHAPES) for shapes in ("large", None, ["own"])),
    *(({"bisect": value}, "bisect: expected True or False, got ") for value in (1, "yes", None)),
    ({"floats": "yes"}, "floats: expected True or False, got 'yes'"),
    *(({"inputs": inputs}, "expected 3 inputs, got ") for inputs in ([], [X], [X, W, IDS, IDS])),
    *(({"inputs": inputs}, ORDER) for inputs in (5, "abc", {1, 2, 3}, (a for a in (X, W, IDS)))),
    ({"inputs": [X.T, W, IDS]}, "argument %x: expected tensor<6x4xf32> (float32), got an array 4x6xfloat32"),
    ({"inputs": [X, W, IDS * 1.0]}, "argument %ids: expected tensor<6xi32> (int32), got an array 6xfloat64"),
    ({"inputs": [None, W, IDS]}, "argument %x: expected numbers of tensor<6x4xf32> (float32), got None"),
    ({"inputs": [[[1], [2, 3]], W, IDS]}, "argument %x: expected numbers of tensor<6x4xf32> (float32)"),
    ({"inputs": {"%y": X}}, "unknown argument '%y': expected one of '%x', '%w', '%ids'"),
    ({"inputs": {"%x": X}}, "expected an input for each argument, got none for %w, %ids"),
    ({"inputs": {"%x": X, 0: X}}, "argument %x has two inputs"),
    *(
        ({"inputs": [X, W, IDS], "shapes": shapes}, "inputs: expected none for smaller shapes, got 3")
        for shapes in ("small", "ops")
    ),
]


@pytest.mark.parametrize(("arguments", "message"), PROOFS)
def test_arguments_of_proofs(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ShardyError, match=re.escape(message)):
        local().prove(**arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"seed": "a"}, "seed: expected an integer, 0 or above, got 'a'"),
        ({"max_steps": 0}, f"max_steps: {LIMIT}0"),
        ({"max_elements": 1e6}, f"max_elements: {LIMIT}1000000.0"),
        ({"max_steps": 1}, "the run exceeds the limit of 1 executed ops"),
        ({"max_elements": 1}, "more than the limit of 1"),
    ],
)
def test_arguments_of_runs(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ShardyError, match=re.escape(message)):
        local().run([X, W, IDS], **arguments)


@pytest.mark.parametrize(
    ("devices", "got"), [(4, "4"), ("cpu", "'cpu'"), ([0, 1, 2, 3], "0"), ([], "0, 0 of them different")]
)
def test_devices_of_jax(devices: Any, got: str) -> None:
    pytest.importorskip("jax")
    message = f"devices: expected 4 different devices of JAX, as in jax.devices(), got {got}"
    with pytest.raises(ShardyError, match=re.escape(message)):
        local().run_on_jax([X, W, IDS], devices=devices)


def test_a_wrong_value_has_the_names_of_the_file() -> None:
    mutant = Subject("named", TEXT).broken("rounding", 0)
    assert mutant is not None
    answer = LocalProgram(Program.parse(TEXT), mutant.partitioned).prove()
    assert "the part of %out = stablehlo.tanh" in str(answer)
    assert "%arg" not in str(answer)
