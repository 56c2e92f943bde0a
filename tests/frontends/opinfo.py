"""Calls of torch's own op database, converted, run by our interpreter, and compared with torch's numbers.

    python -m tests.frontends.opinfo [--samples 2] [--list] [--gradients] [name ...]

`torch.testing._internal.common_methods_invocations.op_db` has some 700 ops with sample arguments. Each call
is exported as a module of its own; calls that `torch.export` does not export are not counted. Names select
ops by their beginning. `--list` prints every call that is not equal. `--gradients` compares gradients of ops
that have them, traced as those of training steps are.
"""

from __future__ import annotations

import argparse
import importlib.util
import itertools
import signal
import sys
import types
import unittest
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.utils import _pytree as pytree

from shardy_py import ShardyError
from shardy_py.frontends.torch.example_values import ExampleValues
from shardy_py.frontends.torch.export import program_of
from shardy_py.frontends.torch.exporting import export
from tests.frontends.traced_functions import program_of_function

EQUAL, SPECIALIZED, RANDOM, WRONG = "equal", "equal, specialized", "random: types equal", "wrong numbers"
NOT_EXPORTED, NOT_CONVERTED, NOT_RUN, CRASH = "not exported", "not converted", "not run", "crash"
KINDS = (EQUAL, SPECIALIZED, RANDOM, WRONG, NOT_CONVERTED, NOT_RUN, CRASH)

UP_TO_SIGNS = ("linalg.svd", "svd", "linalg.eigh", "pca_lowrank", "svd_lowrank", "linalg.eig", "geqrf")
"""Ops whose results are unique up to signs, or phases, of vectors: absolute values are compared."""

UNINITIALIZED = ("empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided")
"""Ops whose results are what was in memory: types are compared, as of those that draw random numbers."""

_SECONDS = 60


@dataclass(frozen=True)
class Outcome:
    """What became of a call. detail: the error's message, or which result differs."""

    op: str
    sample: int
    kind: str
    detail: str = ""


class Call(torch.nn.Module):
    """An op with the arguments of a sample, of which the tensors are inputs.

    process: what makes results unique, as absolute values of vectors that are unique up to signs.
    """

    def __init__(
        self, function: Any, leaves: Sequence[Any], spec: Any, process: Any = lambda found: found
    ) -> None:
        super().__init__()
        self.function, self.leaves, self.spec, self.process = function, tuple(leaves), spec, process

    def forward(self, *tensors: Any) -> Any:
        left = list(tensors)
        leaves = [left.pop(0) if isinstance(leaf, torch.Tensor) else leaf for leaf in self.leaves]
        arguments, keywords = pytree.tree_unflatten(leaves, self.spec)
        found = pytree.tree_leaves(self.process(self.function(*arguments, **keywords)))
        return tuple(part for part in found if isinstance(part, torch.Tensor))


def outcome_of(name: str, number: int, function: Any, sample: Any) -> Outcome:
    """Exports, converts, runs and compares one call, specialized if it does not convert otherwise."""
    found = _outcome_of(name, number, function, sample, specialize=False)
    if found.kind not in (NOT_EXPORTED, NOT_CONVERTED):
        return found
    again = _outcome_of(name, number, function, sample, specialize=True)
    return Outcome(name, number, SPECIALIZED) if again.kind == EQUAL else found


def _outcome_of(name: str, number: int, function: Any, sample: Any, *, specialize: bool) -> Outcome:
    leaves, spec = pytree.tree_flatten(((sample.input, *sample.args), dict(sample.kwargs)))
    leaves = [
        leaf.detach().resolve_conj().resolve_neg().clone() if isinstance(leaf, torch.Tensor) else leaf
        for leaf in leaves
    ]
    given = tuple(leaf for leaf in leaves if isinstance(leaf, torch.Tensor))
    module = Call(function, leaves, spec)
    try:
        with torch.no_grad():
            expected = module(*(tensor.clone() for tensor in given))
        exported = export(module, tuple(tensor.clone() for tensor in given), specialize=specialize)
    except Exception as error:
        return Outcome(name, number, NOT_EXPORTED, _first_line(error))
    try:
        program = program_of(exported)
    except ShardyError as error:
        return Outcome(name, number, NOT_CONVERTED, error.diagnostics[0].message)
    except Exception as error:
        return Outcome(name, number, CRASH, f"{type(error).__name__}: {_first_line(error)}")
    try:
        found = program.run([_array(tensor) for tensor in given])
    except Exception as error:
        return Outcome(name, number, NOT_RUN, f"{type(error).__name__}: {_first_line(error)}")
    # Results for mutated inputs, if any, are not those of the call.
    labels = [output.label or "" for output in found.outputs]
    arrays = [
        array for array, label in zip(found.arrays, labels, strict=True) if not label.endswith(" after")
    ]
    if name in UNINITIALIZED or (_may_draw(exported) and draws(program)):
        same = [(a.shape, a.dtype) for a in arrays] == [
            (tuple(_array(t).shape), _array(t).dtype) for t in expected
        ]
        return Outcome(name, number, RANDOM if same else WRONG, "" if same else "types")
    by_magnitude = name in UP_TO_SIGNS
    for place, (array, tensor) in enumerate(zip(arrays, expected, strict=True)):
        if not close(array, _array(tensor), by_magnitude=by_magnitude):
            return Outcome(name, number, WRONG, f"result {place}")
    return Outcome(name, number, EQUAL)


def gradient_of(name: str, number: int, function: Any, sample: Any) -> Outcome:
    """Traces, converts, runs and compares the gradients of one call, given random ones of its results.

    They are those of what the sample says to have one; others, as statistics and targets, have none in torch.
    """
    leaves, spec = pytree.tree_flatten(((sample.input, *sample.args), dict(sample.kwargs)))
    learned = [leaf.requires_grad for leaf in leaves if isinstance(leaf, torch.Tensor)]
    leaves = [leaf.detach().clone() if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
    call = Call(function, leaves, spec, sample.output_process_fn_grad)
    given = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]

    def inputs_of(tensors: Sequence[Any]) -> list[Any]:
        pairs = zip(tensors, learned, strict=True)
        return [tensor.detach().clone().requires_grad_(wanted) for tensor, wanted in pairs]

    def gradients(*tensors: Any) -> tuple[Any, ...]:
        inputs = inputs_of(tensors[: len(given)])
        results = [result for result in call(*inputs) if result.requires_grad]
        leaves = [tensor for tensor in inputs if tensor.requires_grad]
        found = torch.autograd.grad(results, leaves, tensors[len(given) :], allow_unused=True)
        return tuple(each for each in found if each is not None)

    try:
        results = [result for result in call(*inputs_of(given)) if result.requires_grad]
        tensors = [*given, *(torch.randn_like(result) for result in results)]
        expected = gradients(*tensors)
    except Exception as error:
        return Outcome(name, number, NOT_EXPORTED, _first_line(error))
    names, kind = [f"input_{place}" for place in range(len(tensors))], EQUAL
    try:
        try:
            program = program_of_function(gradients, tensors, names)
        except ShardyError:
            program, kind = program_of_function(specialized(gradients, tensors), tensors, names), SPECIALIZED
    except ShardyError as error:
        return Outcome(name, number, NOT_CONVERTED, error.diagnostics[0].message)
    except Exception as error:
        return Outcome(name, number, NOT_EXPORTED, f"{type(error).__name__}: {_first_line(error)}")
    try:
        arrays = program.run([_array(tensor) for tensor in tensors]).arrays
    except Exception as error:
        return Outcome(name, number, NOT_RUN, f"{type(error).__name__}: {_first_line(error)}")
    pairs = [*zip(arrays, expected, strict=True)]
    if draws(program):
        same = all((a.shape, a.dtype) == (_array(t).shape, _array(t).dtype) for a, t in pairs)
        return Outcome(name, number, RANDOM if same else WRONG, "" if same else "types")
    wrong = [place for place, (array, tensor) in enumerate(pairs) if not close(array, _array(tensor))]
    return Outcome(name, number, WRONG, f"gradient {wrong[0]}") if wrong else Outcome(name, number, kind)


def specialized(function: Any, tensors: Sequence[Any]) -> Any:
    """The function in which numbers and sizes that depend on elements are those of these tensors."""
    values = ExampleValues()
    with values.recorded():
        function(*tensors)

    def replayed(*given: Any) -> Any:
        with values.given():
            return function(*given)

    return replayed


def close(found: Any, expected: Any, *, by_magnitude: bool = False) -> bool:
    """Returns whether arrays have the same type and, to the precision of it, the same elements."""
    if found.shape != expected.shape or found.dtype != expected.dtype:
        return False
    coarse = expected.dtype.name in ("bfloat16", "float16")
    wide = np.complex128 if expected.dtype.kind == "c" else np.float64
    found, expected = np.asarray(found, wide), np.asarray(expected, wide)
    if by_magnitude:
        found, expected = np.abs(found), np.abs(expected)
    largest = float(np.abs(expected[np.isfinite(expected)]).max(initial=1.0))
    tolerance = 1e-2 if coarse else 2e-4
    return np.allclose(
        found, expected, rtol=tolerance, atol=tolerance * min(largest, 10) / 10, equal_nan=True
    )


def draws(program: Any) -> bool:
    """Returns whether a program has random numbers, which are not torch's."""
    return bool([*program.values.of_op("rng_bit_generator")])


def _may_draw(exported: Any) -> bool:
    """Returns whether torch says that an op of a graph may draw random numbers."""
    ops = [node.target for node in exported.graph.nodes if node.op == "call_function"]
    return any(tag.name == "nondeterministic_seeded" for op in ops for tag in getattr(op, "tags", ()))


def _array(tensor: Any) -> Any:
    if tensor.dtype == torch.bfloat16:
        import ml_dtypes

        return tensor.float().numpy().astype(ml_dtypes.bfloat16)
    return tensor.numpy(force=True)


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [""])[0][:300]


def _stop(*_: Any) -> None:
    raise TimeoutError(f"more than {_SECONDS} s")


def op_database() -> Sequence[Any]:
    """torch's op database; its module needs `expecttest`, of which nothing is used."""
    if importlib.util.find_spec("expecttest") is None:
        stand_in = types.ModuleType("expecttest")
        stand_in.TestCase = unittest.TestCase  # type: ignore[attr-defined]
        sys.modules["expecttest"] = stand_in
    from torch.testing._internal.common_methods_invocations import op_db

    return op_db


_DTYPES = (torch.float32, torch.int64, torch.complex64, torch.bool)


def calls(
    names: Sequence[str] = (), samples: int = 2, *, gradients: bool = False
) -> Iterator[tuple[str, int, Any, Any]]:
    """Name, number of the sample, function and sample of each call; samples are spread evenly.

    gradients: only those of ops that have them, in f64, where rounding hides nothing.
    """
    for op in op_database():
        if gradients and not op.supports_autograd:
            continue
        name = op.name + (f".{op.variant_test_name}" if op.variant_test_name else "")
        if names and not any(name.startswith(each) for each in names):
            continue
        supported = op.supported_dtypes("cpu")
        wanted = (torch.float64,) if gradients else _DTYPES
        dtype = next((dtype for dtype in wanted if dtype in supported), None)
        if dtype is None:
            continue
        torch.manual_seed(0)
        try:
            found = list(itertools.islice(op.sample_inputs("cpu", dtype, requires_grad=gradients), 40))
        except Exception:
            continue
        places = sorted({round(i * (len(found) - 1) / max(samples - 1, 1)) for i in range(samples)})
        for place in places if found else ():
            yield name, place, op.op, found[place]


def run(names: Sequence[str] = (), samples: int = 2, *, gradients: bool = False) -> Iterator[Outcome]:
    """The outcome of each call, or of its gradients."""
    signal.signal(signal.SIGALRM, _stop)
    outcome = gradient_of if gradients else outcome_of
    for name, number, function, sample in calls(names, samples, gradients=gradients):
        signal.alarm(_SECONDS)
        try:
            yield outcome(name, number, function, sample)
        except Exception as error:
            yield Outcome(name, number, CRASH, f"{type(error).__name__}: {_first_line(error)}")
        finally:
            signal.alarm(0)


def main(arguments: Sequence[str] | None = None) -> None:
    """Prints the table, and the errors by frequency."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--samples", type=int, default=2)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--gradients", action="store_true")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    outcomes: list[Outcome] = []
    for outcome in run(options.names, options.samples, gradients=options.gradients):
        outcomes.append(outcome)
        if options.list and outcome.kind not in (EQUAL, SPECIALIZED, RANDOM):
            print(f"{outcome.op} #{outcome.sample}: {outcome.kind}: {outcome.detail}", flush=True)
    exported = [outcome for outcome in outcomes if outcome.kind != NOT_EXPORTED]
    counts = Counter(outcome.kind for outcome in exported)
    print(f"\n{len(exported)} calls of {len({o.op for o in exported})} ops that torch exports")
    for kind in KINDS:
        print(f"  {kind:22} {counts[kind]:5} {100 * counts[kind] / max(len(exported), 1):6.1f} %")
    print(f"not exported by torch: {len(outcomes) - len(exported)}")
    classes = Counter(
        (outcome.kind, outcome.detail.split(":")[0][:60])
        for outcome in exported
        if outcome.kind not in (EQUAL, SPECIALIZED, RANDOM)
    )
    for (kind, what), count in classes.most_common(25):
        print(f"  {count:4} {kind}: {what}")


if __name__ == "__main__":
    main()
