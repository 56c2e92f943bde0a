"""Exact proofs: both programs in a finite field, with functions that nothing is known of.

    answer = prove_exactly(partitioned, ProofOptions())

Runs differ in prime, functions, inputs, the order of residues and the branches of conditionals. All elements
on all devices must be equal. What an answer says is in docs/partition.md; not here: the field (`field/`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, OpResult, SSAValue

from shardy_py.mlir.ir import operands_of, type_of, walk_pre_order
from shardy_py.mlir.plain import tensor_type
from shardy_py.mlir.record import record_of
from shardy_py.mlir.symbols import function_name
from shardy_py.ops import Control, OpRecord
from shardy_py.ops.compute import Array
from shardy_py.ops.compute.lanes import TOKEN
from shardy_py.ops.table import row_of
from shardy_py.passes.partitioned import Partitioned
from shardy_py.run.interpret import Executable, Settings
from shardy_py.run.interpret.values import Value
from shardy_py.run.proof.answer import Answer, ValueFault, fault_of
from shardy_py.run.proof.case import Case, arguments_of, main_of
from shardy_py.run.proof.comparison import LocalObserver, Tally, WrongValue, unequal
from shardy_py.run.proof.degrees import degree_of
from shardy_py.run.proof.exact_inputs import Inputs, indexed_sizes
from shardy_py.run.proof.exactness import Exactness
from shardy_py.run.proof.expected import Expected
from shardy_py.run.proof.field.arithmetic import FieldArithmetic, FieldSite
from shardy_py.run.proof.field.conversions import Format, format_of, kept_format
from shardy_py.run.proof.field.facet import MEANINGS
from shardy_py.run.proof.field.hashing import Hash
from shardy_py.run.proof.field.residues import ORDERS, Residues
from shardy_py.run.proof.options import ProofOptions
from shardy_py.run.proof.returned import returned

RUNS, FEW_RUNS = 9, 3
"""The runs of small programs, and of large ones: each order of residues three times, or once."""


def sites_of(module: ModuleOp) -> dict[Operation, OpRecord]:
    """Returns the ops with their types, before widening."""
    return {op: record_of(op) for op in walk_pre_order(module) if op.results}


def formats_of(records: dict[Operation, OpRecord]) -> dict[SSAValue, Format | None]:
    """Returns the format in which each value is exact."""
    found: dict[SSAValue, Format | None] = {}
    for op, record in records.items():
        given = tuple(
            found[value] if value in found else format_of(type_)
            for value, type_ in zip(operands_of(op), record.operands, strict=False)
        )
        kept = kept_format(record, given) if len(record.results) == 1 else None
        for result, type_ in zip(op.results, record.results, strict=False):
            found[result] = format_of(type_) if kept is None else kept
    return found


def widened_sites(
    records: dict[Operation, OpRecord], formats: dict[SSAValue, Format | None]
) -> dict[Operation, FieldSite]:
    """Returns the sites of ops whose floats are f64 now."""
    sites: dict[Operation, FieldSite] = {}
    for op, original in records.items():
        given = tuple(
            formats[value] if value in formats else format_of(type_)
            for value, type_ in zip(operands_of(op), original.operands, strict=False)
        )
        sites[op] = FieldSite(original, record_of(op), given, _is_condition(op))
    return sites


def _is_condition(op: Operation) -> bool:
    region = op.parent_region()
    owner = None if region is None else region.parent
    if owner is None or region is not owner.regions[0] or not owner.results:
        return False
    return row_of(record_of(owner)).control is Control.LOOP


@dataclass(frozen=True, slots=True, eq=False)
class _Exact:
    """Both programs in f64, with the ops of each."""

    case: Case
    whole: dict[Operation, FieldSite]
    local: dict[Operation, FieldSite]
    options: ProofOptions
    sizes: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Run:
    tally: Tally
    fault: ValueFault | None
    arithmetics: tuple[FieldArithmetic, FieldArithmetic]


def prove_exactly(
    partitioned: Partitioned, options: ProofOptions, inputs: Sequence[Array] = (), *, runs: int = RUNS
) -> Answer:
    """Returns whether all devices compute what the whole program does, on its own shapes.

    inputs: of the whole program; their integers are taken in one more run.

    Raises:
        ShardyError: one of the programs cannot run.
    """
    original = Case.of(partitioned)
    sites: list[dict[Operation, FieldSite]] = []
    case = original.in_field(lambda module: _prepared(module, sites))
    exact = _Exact(case, sites[0], sites[1], options, indexed_sizes(partitioned.whole))
    done: list[_Run] = []
    with np.errstate(all="ignore"):
        for number in range(runs + bool(inputs)):
            done.append(_run(exact, number, inputs if number == runs else ()))
            if done[-1].fault is not None:
                break
    tally = done[0].tally
    for run in done[1:]:
        tally.add_run(run.tally)
    used = [arithmetic for run in done for arithmetic in run.arithmetics]
    branches = {count for arithmetic in used for count in arithmetic.branches}
    exactness = Exactness(
        len(done),
        min(len(done), len(ORDERS)),
        min(max(branches, default=0), len(done)),
        tuple(sorted({name for arithmetic in used for name in arithmetic.uninterpreted})),
        tuple(sorted({name for arithmetic in used for name in arithmetic.whole})),
        degree_of(partitioned.whole),
    )
    fault = done[-1].fault
    return Answer(
        fault=fault,
        seed=options.seed,
        devices=partitioned.grid.size,
        local_values=sum(isinstance(value, OpResult) for value in case.found),
        tally=tally,
        runs=tuple(f"run {number}" for number in range(len(done))),
        partitioned=partitioned,
        untaken=case.untaken(tally.compared | tally.unknown | tally.unmatched)
        if fault is None
        else frozenset(),
        exactness=exactness,
    )


def _prepared(module: ModuleOp, sites: list[dict[Operation, FieldSite]]) -> Callable[[], None]:
    records = sites_of(module)
    formats = formats_of(records)

    def widened() -> None:
        sites.append(widened_sites(records, formats))

    return widened


def _run(exact: _Exact, number: int, given: Sequence[Array]) -> _Run:
    case, options = exact.case, exact.options
    random = np.random.default_rng((options.seed, number))
    field = Residues.random(random, ORDERS[number % len(ORDERS)])
    hashes = Hash(int(random.integers(1 << 63)))
    inputs = Inputs(field, random, exact.sizes)
    arrays = _arrays(case, inputs, given)
    whole, local = (
        FieldArithmetic(field, hashes, sites, MEANINGS.of, number // len(ORDERS) + number)
        for sites in (exact.whole, exact.local)
    )
    expected = Expected(frozenset(value for found in case.found.values() for value in found.whole))
    lanes = [TOKEN if array is None else array[None] for array in arrays]
    for argument, array in zip(arguments_of(case.whole), lanes, strict=True):
        expected.keep(argument, array)
    settings = Settings(
        limits=options.limits,
        observed=expected.observed,
        observe=expected.observe,
        seed=options.seed + number,
        arithmetic=whole,
    )
    wanted = Executable(case.whole, function_name(main_of(case.whole)), settings).run(lanes)
    partitioned = case.partitioned
    devices = partitioned.grid.size
    comparison = LocalObserver(case.found, expected, None, partitioned.meshes, devices, arithmetic=local)
    parts = [
        TOKEN
        if shards is None or array is None
        else shards.split(array, inputs.elements(array.dtype, (devices, *shards.local_shape)))
        for shards, array in zip(case.inputs(), arrays, strict=True)
    ]
    own = replace(
        settings,
        grid=partitioned.grid,
        observed=comparison.observed,
        observe=comparison.observe,
        arithmetic=local,
    )
    both = whole, local
    try:
        made = Executable(case.local, function_name(main_of(case.local)), own).run(parts)
    except WrongValue as error:
        return _Run(comparison.tally, fault_of(error.wrong, case.local, case.whole, case.sources), both)
    return _Run(comparison.tally, _result_fault(case, wanted, made, local), both)


def _arrays(case: Case, inputs: Inputs, given: Sequence[Array]) -> list[Array | None]:
    """The inputs of the whole program; None: a token."""
    left = iter(given)
    arrays: list[Array | None] = []
    for argument in arguments_of(case.whole):
        type_ = tensor_type(type_of(argument))
        if type_ is None:
            arrays.append(None)
            continue
        array = inputs.of(type_)
        own = next(left, None)
        arrays.append(array if own is None or array.dtype.kind in "fc" else np.asarray(own))
    return arrays


def _result_fault(
    case: Case, wholes: list[Value], local: list[Value], arithmetic: FieldArithmetic
) -> ValueFault | None:
    """Compares what the programs return, on every device."""
    for each in returned(case, wholes, local):
        if not each.has_its_shape:
            return each.wrong_shape()
        shards, made = each.shards, each.local
        members = np.arange(shards.devices)
        if shards.groups is not None:
            made = shards.combined(made, arithmetic.ufunc)
        right = shards.parts(each.whole, np.zeros_like(members), members)
        bad = unequal(made, right) & shards.inside(members)
        if bad.any():
            first = tuple(int(i) for i in np.unravel_index(int(np.argmax(bad)), bad.shape))
            device, at = first[0], first[1:]
            expected, got = (str(np.broadcast_to(array, bad.shape)[first]) for array in (right, made))
            only = device if len(bad) > 1 else None
            return each.fault("wrong value", only, at, shards.global_index(device, at), (expected, got))
    return None
