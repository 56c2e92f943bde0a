"""Values of a wrong type or size for each argument of public methods: `ShardyError`, or accepted."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from shardy_py import Program, ShardyError, propagate

TEXT = """
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<4x4xf32> {
  %0 = stablehlo.dot %a, %a : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}
"""
BAD = (-1, 1.5, "x", object(), True, [], {}, 2**70, float("nan"), b"x", [object()])
INDEXED = {"key", "value", "keep"}
"""The arguments that are the number of a value: `IndexError` for one that is too large, as of sequences."""
SLOW = {"from_torch", "kept"}
"""Methods that are left out: torch is imported; a function of our own is called."""


def calls() -> Iterator[tuple[str, Callable[..., object], str]]:
    """The methods of a program, a result and a local program, with an argument that may be given alone."""
    result = propagate(Program.parse(TEXT))
    for of in (result.program, result, result.partition()):
        for name in dir(type(of)):
            method = inspect.getattr_static(type(of), name)
            if name.startswith("_") or name in SLOW or not inspect.isfunction(method):
                continue
            parameters = list(inspect.signature(method).parameters.values())[1:]
            required = {each.name for each in parameters if each.default is each.empty and each.kind < 2}
            for each in parameters:
                if each.kind not in (each.VAR_KEYWORD, each.VAR_POSITIONAL) and required <= {each.name}:
                    yield f"{type(of).__name__}.{name}", getattr(of, name), each.name


CALLS = list(calls())


def test_many_arguments_are_tried() -> None:
    assert len(CALLS) > 60


@pytest.mark.parametrize(
    ("name", "method", "argument"), CALLS, ids=lambda each: each if isinstance(each, str) else ""
)
def test_bad_values_are_errors_of_the_project(
    name: str, method: Callable[..., object], argument: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # text is the name of a file to some
    parameter = inspect.signature(method).parameters[argument]
    for value in BAD:
        call = (
            partial(method, value)
            if parameter.kind is parameter.POSITIONAL_ONLY
            else partial(method, **{argument: value})
        )
        try:
            call()
        except ShardyError:
            continue
        except IndexError:
            assert argument in INDEXED, (name, value)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda local: local.run(seed=-1), "seed: expected an integer, 0 or above, got -1"),
        (lambda local: local.run(max_elements=0), "max_elements: expected an integer, 1 or above, got 0"),
        (lambda local: local.run(max_steps="9"), "max_steps: expected an integer, 1 or above, got '9'"),
        (lambda local: local.run(7), "inputs: expected arrays in order, or by argument, got 7"),
        (lambda local: local.prove(seed=1.5), "seed: expected an integer, 0 or above, got 1.5"),
        (lambda local: local.prove(floats="no"), "floats: expected True or False, got 'no'"),
        (lambda local: local.whole.run([], seed=True), "seed: expected an integer, 0 or above, got True"),
        (lambda local: local.whole.suggest(tries=0), "tries: expected an integer, 1 or above, got 0"),
        (
            lambda local: local.whole.suggest(time_limit="9"),
            "time_limit: expected a number, 0 or above, got '9'",
        ),
        (
            lambda local: local.whole.suggest(keep=[None]),
            "expected the name, source location or number of a value, got None",
        ),
    ],
)
def test_numbers_and_flags(call: Callable[..., object], message: str) -> None:
    with pytest.raises(ShardyError) as raised:
        call(propagate(Program.parse(TEXT)).partition())
    assert message in str(raised.value)
