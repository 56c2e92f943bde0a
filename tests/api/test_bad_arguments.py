"""Values of a wrong type or size for each argument of public methods: `ShardyError`, or accepted."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from shardy_py import Mesh, P, Program, Sharding, ShardyError, Study, dim, load_plugins, propagate

TEXT = """
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<4x4xf32> {
  %0 = stablehlo.dot %a, %a : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}
"""
BAD = (
    *(-1, 1.5, "x", object(), True, [], {}, 2**70, float("nan"), b"x", [object()]),
    *(int, {1: 2}, (1, 2), np.zeros(3), Path("none")),
)
INDEXED = {"key", "value", "keep"}
"""The arguments that are the number of a value: `IndexError` for one that is too large, as of sequences."""
SLOW = {"from_torch", "from_torch_training", "kept"}
"""Methods that are left out: torch is imported; a function of our own is called."""

MESH, SHARDED = Mesh.of(x=2), {"%arg0": P("x")}
FUNCTIONS: tuple[tuple[str, Callable[..., object], dict[str, object]], ...] = (
    ("Program.parse", Program.parse, {"text": TEXT}),
    ("Program.load", Program.load, {"path": "a.mlir"}),
    ("Program.from_module", Program.from_module, {"module": Program.parse(TEXT).module}),
    ("propagate", propagate, {"program": Program.parse(TEXT)}),
    ("Mesh.of", Mesh.of, {"sizes": {"x": 2}}),
    ("Mesh", Mesh, {}),
    ("dim", dim, {}),
    ("Sharding", Sharding, {"mesh": MESH, "spec": P("x")}),
    ("Sharding.parse", Sharding.parse, {"text": '<@mesh, [{"x"}]>', "mesh": MESH}),
    ("Result.why_not", propagate(Program.parse(TEXT)).why_not, {"key": 0, "dimension": 0, "axis": "x"}),
    ("Study.score", Study(Program.parse(TEXT)).score, {}),
    ("Study.step", Study(Program.parse(TEXT)).step, {"edits": SHARDED}),
    ("Study.changes", Study(Program.parse(TEXT)).changes, {"edits": SHARDED}),
    ("Sharding.local_shape", Sharding(MESH, P("x")).local_shape, {"shape": (4,)}),
    ("Sharding.device_slices", Sharding(MESH, P("x")).device_slices, {"shape": (4,)}),
)
"""Functions with plausible arguments, of which each is replaced."""


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


@pytest.mark.parametrize(("name", "function", "given"), FUNCTIONS, ids=[each[0] for each in FUNCTIONS])
def test_bad_values_beside_good_ones(
    name: str,
    function: Callable[..., object],
    given: dict[str, object],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.mlir").write_text(TEXT)
    function(**given)
    for argument, parameter in inspect.signature(function).parameters.items():
        if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
            continue
        for value in BAD:
            try:
                function(**{**given, argument: value})
            except ShardyError:
                continue
            except IndexError:
                assert argument in INDEXED, (name, argument, value)


@pytest.mark.parametrize("value", BAD, ids=lambda value: type(value).__name__)
def test_bad_values_in_a_row(value: object) -> None:
    """Arguments of any number, and values in a mapping."""
    program = Program.parse(TEXT)
    result = propagate(program)
    calls: tuple[Callable[[], object], ...] = (
        lambda: load_plugins(value),  # type: ignore[arg-type]
        lambda: Mesh.of(x=value),  # type: ignore[arg-type]
        lambda: P(value),  # type: ignore[arg-type]
        lambda: dim(value),  # type: ignore[arg-type]
        lambda: program.annotate({"%arg0": value}),  # type: ignore[dict-item]
        lambda: result.what_if({"%arg0": value}),  # type: ignore[dict-item]
        lambda: Study(program).score({"%arg0": value}),  # type: ignore[dict-item]
    )
    for call in calls:
        with suppress(ShardyError):
            call()


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
