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

from shardy_py.mlir.dialects.registry import syntax_table
from shardy_py.mlir.ir import operands_of, type_of, walk_pre_order
from shardy_py.mlir.op_errors import place_of
from shardy_py.mlir.plain import tensor_type
from shardy_py.mlir.record import record_of
from shardy_py.mlir.symbols import Symbols, function_name
from shardy_py.mlir.text.naming import ValueNames
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
from shardy_py.run.proof.coverage import Coverage
from shardy_py.run.proof.degrees import degree_of
from shardy_py.run.proof.exact_inputs import Inputs, compared_integers, float_constants, indexed_sizes
from shardy_py.run.proof.exact_runs import Floats, RunKind, runs_of
from shardy_py.run.proof.exactness import Exactness
from shardy_py.run.proof.expected import Expected
from shardy_py.run.proof.field.arithmetic import FieldArithmetic, FieldSite
from shardy_py.run.proof.field.conversions import Format, format_of, kept_format
from shardy_py.run.proof.field.facet import MEANINGS
from shardy_py.run.proof.field.hashing import Hash
from shardy_py.run.proof.field.residues import ORDERS, Residues
from shardy_py.run.proof.float_loops import ends_by_floats
from shardy_py.run.proof.options import ProofOptions
from shardy_py.run.proof.returned import returned
from shardy_py.run.proof.shards import Shards


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
    module: ModuleOp, records: dict[Operation, OpRecord], formats: dict[SSAValue, Format | None]
) -> dict[Operation, FieldSite]:
    """Returns the sites of ops whose floats are f64 now."""
    sites: dict[Operation, FieldSite] = {}
    symbols = Symbols(module)
    for op, original in records.items():
        given = tuple(
            formats[value] if value in formats else format_of(type_)
            for value, type_ in zip(operands_of(op), original.operands, strict=False)
        )
        sites[op] = FieldSite(original, record_of(op), given, _is_condition(op), ends_by_floats(op, symbols))
    return sites


def _is_condition(op: Operation) -> bool:
    region = op.parent_region()
    owner = None if region is None else region.parent
    if owner is None or region is not owner.regions[0] or not owner.results:
        return False
    return row_of(record_of(owner)).control is Control.LOOP


@dataclass(frozen=True, slots=True, eq=False)
class _Run:
    tally: Tally
    fault: ValueFault | None


def prove_exactly(
    partitioned: Partitioned, options: ProofOptions, inputs: Sequence[Array] = (), *, is_large: bool = False
) -> Answer:
    """Returns whether all devices compute what the whole program does, on its own shapes.

    inputs: of the whole program; their integers are taken in one more run. is_large: fewer runs.

    Raises:
        ShardyError: one of the programs cannot run.
    """
    kinds = runs_of((partitioned.whole, partitioned.local), is_large=is_large)
    given: list[Sequence[Array]] = [()] * len(kinds)
    if inputs:
        kinds, given = (*kinds, kinds[0]), [*given, inputs]
    exact = _Exact(partitioned, options, kinds)
    done: list[_Run] = []
    with np.errstate(all="ignore"):
        for number, arrays in enumerate(given):
            done.append(exact.run(number, arrays))
            if done[-1].fault is not None and not exact.divides:
                exact.divides = True  # a law of quotients may have been needed
                done[-1] = exact.run(number, arrays)
            if done[-1].fault is not None:
                break
    tally = done[0].tally
    for run in done[1:]:
        tally.add_run(run.tally)
    case, fault = exact.case, done[-1].fault
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
        exactness=exact.exactness(len(done)),
    )


class _Exact:
    """Both programs in f64, built once for all runs.

    divides: whether quotients are those of the field, and not functions of divisors.
    """

    def __init__(self, partitioned: Partitioned, options: ProofOptions, kinds: Sequence[RunKind]) -> None:
        self.partitioned, self.options, self._kinds = partitioned, options, kinds
        self.divides = False
        sites: list[dict[Operation, FieldSite]] = []
        self.case = case = Case.of(partitioned).in_field(lambda module: _prepared(module, sites))
        self._sizes = (*indexed_sizes(partitioned.whole), *compared_integers(partitioned.whole))
        self._constants = float_constants(partitioned.whole)
        first = self._drawn(0)[1:3]
        self._whole, self._local = (FieldArithmetic(*first, each, MEANINGS.of) for each in sites)
        self._wanted = frozenset(value for found in case.found.values() for value in found.whole)
        self._parts: dict[tuple[object, ...], Shards] = {}
        self._inputs, self._outputs = case.inputs(), case.outputs()
        self._coverage = Coverage.of(case.whole)
        first_seen = Expected(self._wanted, self._coverage)
        whole = Settings(limits=options.limits, observed=first_seen.observed, arithmetic=self._whole)
        local = replace(
            whole,
            grid=partitioned.grid,
            observed=self._observer(Expected(self._wanted)).observed,
            arithmetic=self._local,
        )
        self._executables = tuple(
            Executable(module, function_name(main_of(module)), settings)
            for module, settings in ((case.whole, whole), (case.local, local))
        )

    def _drawn(self, number: int) -> tuple[np.random.Generator, Residues, Hash]:
        """The source of random numbers, the field and the functions of a run."""
        random = np.random.default_rng((self.options.seed, number))
        field = Residues.random(random, self._kinds[number].order)
        return random, field, Hash(int(random.integers(1 << 63)))

    def _observer(self, expected: Expected) -> LocalObserver:
        meshes, devices = self.partitioned.meshes, self.partitioned.grid.size
        return LocalObserver(
            self.case.found, expected, None, meshes, devices, arithmetic=self._local, parts=self._parts
        )

    def run(self, number: int, given: Sequence[Array]) -> _Run:
        """A run of both programs. given: inputs, of which the integers are taken."""
        case, devices = self.case, self.partitioned.grid.size
        random, field, hashes = self._drawn(number)
        whole, local = self._executables
        for arithmetic in (self._whole, self._local):
            arithmetic.begin(field, hashes, number // len(ORDERS) + number, divides=self.divides)
        if number or self.divides:
            whole.renew()
            local.renew()
        floats = self._kinds[number].floats
        inputs = Inputs(field, random, self._sizes, self._ties(floats, field, random))
        arrays = _arrays(case, inputs, given)
        if floats is Floats.ZERO:
            arrays = [_without_floats(array) for array in arrays]
        expected = Expected(self._wanted, self._coverage)
        lanes = [TOKEN if array is None else array[None] for array in arrays]
        for argument, array in zip(arguments_of(case.whole), lanes, strict=True):
            expected.keep(argument, array)
        seed = self.options.seed + number
        wanted = whole.run(lanes, expected.observe, seed)
        comparison = self._observer(expected)
        parts = [
            TOKEN
            if shards is None or array is None
            else shards.split(array, inputs.elements(array.dtype, (devices, *shards.local_shape)))
            for shards, array in zip(self._inputs, arrays, strict=True)
        ]
        try:
            made = local.run(parts, comparison.observe, seed)
        except WrongValue as error:
            return _Run(comparison.tally, fault_of(error.wrong, case.local, case.whole, case.sources))
        return _Run(comparison.tally, _result_fault(case, self._outputs, wanted, made, self._local))

    def _ties(self, floats: Floats, field: Residues, random: np.random.Generator) -> tuple[float, ...]:
        """The residues that inputs share; (): none."""
        known = {
            Floats.PAIR: (),
            Floats.UNITS: (0.0, 1.0),
            Floats.CONSTANTS: (0.0, 1.0, *self._constants),
        }.get(floats)
        if known is None:
            return ()
        two = field.uniform(random, (2,)).tolist()
        if not known:
            return tuple(two)
        return (*two, field.least, field.greatest, *field.encoded(np.array(known)).tolist())

    @property
    def _has_quotients(self) -> bool:
        return self._whole.inverts or self._local.inverts

    def _one_sided(self) -> tuple[str, ...]:
        """The conditions that came out one way, by name and line."""
        found = self._coverage.one_sided()
        if not found:
            return ()
        names = ValueNames(self.case.whole, syntax_table()).of
        texts: list[str] = []
        for value, was_true in found:
            place = place_of(value.op)
            line = "" if place is None else f" (line {place.line})"
            name = f"{names.get(id(value), 'a value')} = {value.op.name}{line}"
            texts.append(f"{'always' if was_true else 'never'} {name}")
        return tuple(sorted(texts))

    def exactness(self, runs: int) -> Exactness:
        """How it was proven, in so many runs."""
        used = self._whole, self._local
        branches = {count for arithmetic in used for count in arithmetic.branches}
        return Exactness(
            runs,
            min(runs, len(ORDERS)),
            min(max(branches, default=0), runs),
            tuple(sorted({name for arithmetic in used for name in arithmetic.uninterpreted})),
            tuple(sorted({name for arithmetic in used for name in arithmetic.whole})),
            None if self.divides and self._has_quotients else degree_of(self.partitioned.whole),
            sum(kind.floats is not Floats.UNIFORM for kind in self._kinds[:runs]),
            self._whole.iterations,
            len(self._coverage.conditions),
            self._coverage.both,
            self._one_sided(),
        )


def _without_floats(array: Array | None) -> Array | None:
    """The array, or zeros if it has floats."""
    return array if array is None or array.dtype.kind not in "fc" else np.zeros_like(array)


def _prepared(module: ModuleOp, sites: list[dict[Operation, FieldSite]]) -> Callable[[], None]:
    records = sites_of(module)
    formats = formats_of(records)

    def widened() -> None:
        sites.append(widened_sites(module, records, formats))

    return widened


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
    case: Case,
    outputs: Sequence[Shards | None],
    wholes: list[Value],
    local: list[Value],
    arithmetic: FieldArithmetic,
) -> ValueFault | None:
    """Compares what the programs return, on every device."""
    for each in returned(case, outputs, wholes, local):
        if not each.has_its_shape:
            return each.wrong_shape()
        shards, made = each.shards, each.local
        members = np.arange(shards.devices)
        if shards.groups is not None:
            made = shards.combined(made, arithmetic.ufunc)
        right = shards.parts(each.whole, np.zeros_like(members), members)
        bad = unequal(made, right)
        if shards.everywhere is not None:
            bad = bad & shards.everywhere
        if bad.any():
            first = tuple(int(i) for i in np.unravel_index(int(np.argmax(bad)), bad.shape))
            device, at = first[0], first[1:]
            expected, got = (str(np.broadcast_to(array, bad.shape)[first]) for array in (right, made))
            only = device if len(bad) > 1 else None
            return each.fault("wrong value", only, at, shards.global_index(device, at), (expected, got))
    return None
