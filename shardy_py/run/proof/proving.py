"""Runs the whole and the local program on the same inputs, and compares them op by op.

Both run in f64. Inputs come from a seed; their padding, which no result may depend on, is poisoned.

Not here: the comparison of one op (`comparison.py`), on which shapes programs are proven (`plan.py`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import OpResult

from shardy_py.base.records import dataclass
from shardy_py.mlir.ir import type_of
from shardy_py.mlir.plain import tensor_type
from shardy_py.mlir.symbols import function_name
from shardy_py.mlir.typed import of_kind
from shardy_py.ops.compute import Array
from shardy_py.ops.compute.lanes import TOKEN
from shardy_py.passes.partitioned import Partitioned
from shardy_py.run.interpret import Executable, Settings
from shardy_py.run.interpret.inputs import random_array
from shardy_py.run.interpret.values import Value
from shardy_py.run.proof.answer import Answer, ValueFault, fault_of
from shardy_py.run.proof.case import Case, arguments_of, main_of
from shardy_py.run.proof.comparison import LocalObserver
from shardy_py.run.proof.expected import Expected
from shardy_py.run.proof.findings import WrongValue
from shardy_py.run.proof.options import DEFAULT, ProofOptions
from shardy_py.run.proof.returned import returned
from shardy_py.run.proof.rounding import allowed, differs, is_float, largest
from shardy_py.run.proof.shards import poison
from shardy_py.run.proof.widening import can_widen


def prove_in_floats(
    partitioned: Partitioned, options: ProofOptions = DEFAULT, inputs: Sequence[Array] = ()
) -> Answer:
    """Returns whether all devices compute what the whole program does, on its own shapes.

    inputs: of the whole program, instead of random ones.

    Raises:
        ShardyError: one of the programs cannot run.
    """
    case = Case.of(partitioned)
    is_wide = can_widen(partitioned.whole)
    if is_wide:
        case = case.widened()
    given = _with_tokens(partitioned.whole, inputs) or random_inputs(partitioned.whole, options.seed)
    with np.errstate(all="ignore"):
        runs = _runs(case, options, [_as_run(array, is_wide) for array in given], has_inputs=bool(inputs))
    last = runs[-1]
    tally = runs[0].comparison.tally
    for run in runs[1:]:
        tally.add_run(run.comparison.tally)
    return Answer(
        fault=last.fault,
        seed=options.seed,
        devices=partitioned.grid.size,
        local_values=sum(isinstance(value, OpResult) for value in case.found),
        tally=tally,
        is_wide=is_wide,
        runs=tuple(run.name for run in runs),
        partitioned=partitioned,
        untaken=case.untaken(tally.compared | tally.unknown | tally.unmatched)
        if last.fault is None
        else frozenset(),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Run:
    """A run of both programs. name: of its inputs and padding."""

    name: str
    comparison: LocalObserver
    fault: ValueFault | None


def _runs(case: Case, options: ProofOptions, inputs: list[Value], *, has_inputs: bool) -> list[_Run]:
    """The runs, up to the first one with a fault.

    Comparisons with NaN are false, so a leak of NaN may pass unseen: uneven inputs run with finite padding,
    too. What is NaN in the whole program hides leaks as well: positive inputs have roots and logarithms.
    """
    wholes = _Wholes.of(case, options, inputs)
    runs = [_run(case, options, wholes, "padding NaN", is_finite=False)]
    if runs[-1].fault is None and any(shards is not None and shards.has_padding for shards in case.inputs()):
        runs.append(_run(case, options, wholes, "padding 1e30", is_finite=True))
    if runs[-1].fault is None and runs[0].comparison.tally.nans and not has_inputs:
        positive = [_magnitudes(array) for array in inputs]
        wholes = _Wholes.of(case, options, positive)
        runs.append(_run(case, options, wholes, "positive inputs", is_finite=False))
    return runs


def random_inputs(module: ModuleOp, seed: int) -> list[Value]:
    """Returns inputs for the main function: normal floats, integers from 0 to 9; tokens are None."""
    random = np.random.default_rng(seed)
    types = [tensor_type(type_of(argument)) for argument in arguments_of(module)]
    return [None if tensor is None else random_array(random, tensor) for tensor in types]


def _with_tokens(module: ModuleOp, inputs: Sequence[Array]) -> list[Value]:
    """The inputs with None for each token; [] if there are none."""
    if not inputs:
        return []
    arrays = iter(inputs)
    return [next(arrays) if tensor_type(type_of(value)) else None for value in arguments_of(module)]


def _as_run(array: Value, is_wide: bool) -> Value:
    if array is None or not is_wide or not is_float(array.dtype):
        return array
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def _magnitudes(array: Value) -> Value:
    if array is None or not is_float(array.dtype):
        return array
    return np.abs(array).astype(array.dtype)


def _perturbed(array: Value, seed: int) -> Value:
    """Changes each float by one rounding."""
    if array is None or not is_float(array.dtype):
        return array
    signs = np.random.default_rng(seed).choice((-1.0, 1.0), array.shape)
    epsilon = float(np.finfo(np.float64 if array.dtype.kind in "fc" else np.float32).eps)
    return (array * (1 + epsilon * signs)).astype(array.dtype)


@dataclass(frozen=True, slots=True, eq=False)
class _Wholes:
    """Two runs of the whole program: on the inputs, and on inputs changed by a rounding.

    values, results: of both; results of the main function.
    """

    inputs: list[Value]
    values: tuple[Expected, Expected]
    results: tuple[list[Value], list[Value]]

    @staticmethod
    def of(case: Case, options: ProofOptions, inputs: list[Value]) -> _Wholes:
        """Runs the whole program twice."""
        moved = [_perturbed(array, options.seed + 1) for array in inputs]
        pairs = [_run_whole(case, options, arrays) for arrays in (inputs, moved)]
        return _Wholes(inputs, (pairs[0][0], pairs[1][0]), (pairs[0][1], pairs[1][1]))


def _run_whole(case: Case, options: ProofOptions, inputs: list[Value]) -> tuple[Expected, list[Value]]:
    expected = Expected(frozenset(value for found in case.found.values() for value in found.whole))
    settings = Settings(
        limits=options.limits, observed=expected.observed, observe=expected.observe, seed=options.seed
    )
    lanes = [TOKEN if array is None else array[None] for array in inputs]
    for argument, array in zip(arguments_of(case.whole), lanes, strict=True):
        expected.keep(argument, array)
    return expected, Executable(case.whole, function_name(main_of(case.whole)), settings).run(lanes)


def _run(case: Case, options: ProofOptions, wholes: _Wholes, name: str, *, is_finite: bool) -> _Run:
    partitioned = case.partitioned
    comparison = LocalObserver(case.found, *wholes.values, partitioned.meshes, partitioned.grid.size)
    local = [
        TOKEN if shards is None else shards.split(array, poison(array.dtype, is_finite=is_finite))
        for shards, array in zip(case.inputs(), wholes.inputs, strict=True)
    ]
    settings = Settings(
        grid=partitioned.grid,
        limits=options.limits,
        observed=comparison.observed,
        observe=comparison.observe,
        seed=options.seed,
    )
    try:
        made = Executable(case.local, function_name(main_of(case.local)), settings).run(local)
    except WrongValue as error:
        return _Run(name, comparison, fault_of(error.wrong, case.local, case.whole, case.sources))
    return _Run(name, comparison, _result_fault(case, wholes.results, made))


def _result_fault(
    case: Case, wholes: tuple[list[Value], list[Value]], local: list[Value]
) -> ValueFault | None:
    """Compares what the programs return, also where nothing is known of how it was computed."""
    for each in returned(case, case.outputs(), wholes[0], local):
        if not each.has_its_shape:
            return each.wrong_shape()
        got, expected = each.shards.joined(each.local), each.whole[0]
        if is_float(got.dtype):
            moved = of_kind(wholes[1][each.number], np.ndarray)[0]
            bad = differs(got, expected, allowed(expected, moved), largest(expected))
        else:
            bad = got != expected
        if bad.any():
            at = tuple(int(i) for i in np.unravel_index(int(np.argmax(bad)), bad.shape))
            return each.fault("wrong value", None, at, at, (str(expected[at]), str(got[at])))
    return None
