"""A whole and a local program in a finite field, built once for all runs.

    programs = ExactPrograms(partitioned, options)
    programs.run(0, RunKind("middle")).fault

Not here: which runs are made, and what the answer says (`exact.py`), the elements of inputs
(`exact_inputs.py`), the field (`field/`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

import numpy as np
from xdsl.ir import Operation, OpResult, SSAValue

from shardy_py.base.records import dataclass
from shardy_py.mlir.ir import type_of
from shardy_py.mlir.op_errors import place_of
from shardy_py.mlir.plain import tensor_type
from shardy_py.mlir.symbols import function_name
from shardy_py.ops.compute import Array
from shardy_py.ops.compute.lanes import TOKEN
from shardy_py.passes.partitioned import Partitioned
from shardy_py.run.interpret import Executable, Settings
from shardy_py.run.interpret.machine import Devices
from shardy_py.run.interpret.values import Value, is_array
from shardy_py.run.proof.answer import ValueFault, fault_of
from shardy_py.run.proof.case import Case, arguments_of, main_of
from shardy_py.run.proof.comparison import LocalObserver, unequal
from shardy_py.run.proof.coverage import Coverage
from shardy_py.run.proof.cutpoints import Cutpoints, cut_values
from shardy_py.run.proof.degrees import degree_of
from shardy_py.run.proof.exact_inputs import (
    Inputs,
    compared_integers,
    few_integers,
    float_constants,
    indexed_sizes,
)
from shardy_py.run.proof.exact_runs import Floats, RunKind
from shardy_py.run.proof.exact_sites import noted_sites
from shardy_py.run.proof.exactness import Exactness
from shardy_py.run.proof.expected import Expected, Seen
from shardy_py.run.proof.field.arithmetic import FieldArithmetic, FieldSite
from shardy_py.run.proof.field.facet import MEANINGS
from shardy_py.run.proof.field.hashing import Hash
from shardy_py.run.proof.field.residues import ORDERS, Order, Residues
from shardy_py.run.proof.findings import Tally, WrongValue
from shardy_py.run.proof.names import names_in_file, printed_names
from shardy_py.run.proof.options import ProofOptions
from shardy_py.run.proof.origins import KnownElements
from shardy_py.run.proof.returned import returned
from shardy_py.run.proof.shards import Shards


@dataclass(frozen=True, slots=True, eq=False)
class ExactRun:
    """A run.

    fault: the first wrong value; None: there is none. wrong: the value of the local program that it is; None:
    a result. doubtful: those that differ where values were replaced.
    """

    tally: Tally
    fault: ValueFault | None = None
    wrong: SSAValue | None = None
    doubtful: tuple[SSAValue, ...] = ()


class ExactPrograms:
    """Both programs in f64.

    divides: whether quotients are those of the field, and not functions of divisors.
    """

    def __init__(self, partitioned: Partitioned, options: ProofOptions) -> None:
        """Builds them. Raises `ShardyError`: ops that cannot run."""
        self.partitioned, self._options = partitioned, options
        self.divides = False
        sites: list[dict[Operation, FieldSite]] = []
        self.case = case = Case.of(partitioned).in_field(lambda module: noted_sites(module, sites))
        self._sizes = (*indexed_sizes(partitioned.whole), *compared_integers(partitioned.whole))
        self._constants = float_constants(partitioned.whole)
        first = self._drawn(0, ORDERS[0])[1:3]
        self._whole, self._local = (FieldArithmetic(*first, each, MEANINGS.of) for each in sites)
        self._wanted = frozenset(value for found in case.found.values() for value in found.whole)
        self._cut = cut_values(case.found.values())
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

    @property
    def field(self) -> Residues:
        """The field of the last run."""
        return self._whole.field

    def _drawn(self, number: int, order: Order) -> tuple[np.random.Generator, Residues, Hash]:
        """The source of random numbers, the field and the functions of a run."""
        random = np.random.default_rng((self._options.seed, number))
        field = Residues.random(random, order)
        return random, field, Hash(int(random.integers(1 << 63)))

    def _observer(self, expected: Expected, cutpoints: Cutpoints | None = None) -> LocalObserver:
        return LocalObserver(
            self.case.found,
            expected,
            None,
            self.partitioned.meshes,
            self.partitioned.grid.size,
            arithmetic=self._local,
            parts=self._parts,
            cutpoints=cutpoints,
        )

    def run(
        self, number: int, kind: RunKind, given: Sequence[Array] = (), *, results_only: bool = False
    ) -> ExactRun:
        """A run of both programs.

        number: chooses prime, functions and inputs. given: inputs, of which the integers are taken.
        results_only: whether nothing else is compared.
        """
        case = self.case
        place = number if kind.place is None else kind.place
        random, field, hashes = self._drawn(number, kind.order)
        integers = np.random.default_rng((self._options.seed, place, len(ORDERS)))
        ties = self._ties(kind.floats, field, random)
        few = few_integers(integers, self._sizes) if ties or kind.few else ()
        given_few, has_nan = few if kind.few else (), kind.nan_bits > 0
        inputs = Inputs(field, random, integers, self._sizes, ties, given_few, has_nan=has_nan)
        self._begin(number, place // len(ORDERS) + place + kind.turn, kind, inputs, few, hashes)
        arrays = _arrays(case, inputs, given)
        if kind.floats is Floats.ZERO:
            arrays = [_without_floats(array) for array in arrays]
        cut = [Cutpoints(self._cut, each) if kind.is_cut else None for each in (self._whole, self._local)]
        expected = Expected(self._wanted, None if kind.is_cut else self._coverage, cut[0])
        lanes = [TOKEN if array is None else array[None] for array in arrays]
        for argument, array in zip(arguments_of(case.whole), lanes, strict=True):
            expected.keep(argument, array)
        seed = self._options.seed + number
        whole, local = self._executables
        wanted = whole.run(lanes, expected.observe, seed)
        comparison, parts = self._observer(expected, cut[1]), self._split(arrays, inputs)
        is_random = kind.is_bounded and not kind.is_cut
        try:
            made = local.run(parts, _unseen if results_only else comparison.observe, seed)
        except WrongValue as error:
            wrong = error.wrong
            fault = fault_of(wrong, case.local, case.whole, case.sources)
            if is_random:
                series = expected.series(wrong.counterpart)
                fault = self._with_origin(fault, series[wrong.execution :], expected, parts)
            return ExactRun(comparison.tally, fault, wrong.counterpart.value)
        found = _result_fault(case, self._outputs, wanted, made, self._local)
        if found is not None and is_random:
            found = self._with_origin(found, (), expected, parts)
        return ExactRun(comparison.tally, found, doubtful=tuple(comparison.doubtful))

    def _with_origin(
        self, fault: ValueFault, series: Sequence[Seen], expected: Expected, parts: Sequence[Value]
    ) -> ValueFault:
        """The fault with what its element is. series: of the right tensor, from its execution on."""
        try:
            got, right = float(fault.got), float(fault.expected)
        except ValueError:  # integers, or complex numbers
            return fault
        names, arguments = names_in_file(self.case.whole), arguments_of(self.case.whole)
        values = [(names(value), seen[-1].array) for value, seen in expected.seen.items()]
        inputs = [
            (names(value), part) for value, part in zip(arguments, parts, strict=True) if is_array(part)
        ]
        tensor = series[0].array if series else np.zeros(0)
        return replace(fault, origin=KnownElements(self.field, values, inputs).origin_of(got, right, tensor))

    def _begin(
        self, number: int, turn: int, kind: RunKind, inputs: Inputs, few: Sequence[int], hashes: Hash
    ) -> None:
        """Begins a run of both programs; where inputs are equal, values of functions are as well."""
        for arithmetic in (self._whole, self._local):
            arithmetic.begin(
                inputs.field,
                hashes,
                turn,
                divides=self.divides,
                nan_bits=kind.nan_bits,
                ties=inputs.ties,
                few=few,
            )
        if number or self.divides:  # those of run 0 are known since the programs were built
            for executable in self._executables:
                executable.renew()

    def _split(self, arrays: Sequence[Array | None], inputs: Inputs) -> list[Value]:
        """The parts of the devices, with random padding."""
        devices = self.partitioned.grid.size
        return [
            TOKEN
            if shards is None or array is None
            else shards.split(array, inputs.elements(array.dtype, (devices, *shards.local_shape)))
            for shards, array in zip(self._inputs, arrays, strict=True)
        ]

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
    def branches(self) -> int:
        """The most branches of a conditional that was executed; 0: there was none."""
        return max((count for each in (self._whole, self._local) for count in each.branches), default=0)

    @property
    def _has_quotients(self) -> bool:
        return self._whole.inverts or self._local.inverts

    def _one_sided(self) -> tuple[str, ...]:
        """The conditions that came out one way, by name and line."""
        found = self._coverage.one_sided()
        names = _listed([value for value, _ in found], names_in_file(self.case.whole))
        return tuple(
            sorted(
                f"{'always' if was_true else 'never'} {name}"
                for name, (_, was_true) in zip(names, found, strict=True)
            )
        )

    def exactness(self, kinds: Sequence[RunKind], doubtful: Collection[SSAValue] = ()) -> Exactness:
        """How it was proven, in these runs. doubtful: values that are right for some operands only."""
        used, runs = (self._whole, self._local), len(kinds)
        return Exactness(
            runs,
            min(runs, len(ORDERS)),
            min(self.branches, runs),
            tuple(sorted({name for arithmetic in used for name in arithmetic.uninterpreted})),
            tuple(sorted({name for arithmetic in used for name in arithmetic.whole})),
            None if self.divides and self._has_quotients else degree_of(self.partitioned.whole),
            sum(not kind.is_bounded for kind in kinds),
            self._whole.iterations,
            len(self._coverage.conditions),
            self._coverage.both,
            self._one_sided(),
            sum(kind.nan_bits > 0 for kind in kinds),
            tuple(
                _listed(
                    [value for value in doubtful if isinstance(value, OpResult)],
                    printed_names(self.case.local),
                )
            ),
        )


def _unseen(op: Operation, devices: Devices, results: list[Value]) -> None:
    """Compares nothing."""


def _listed(values: Sequence[OpResult], name_of: Callable[[SSAValue], str]) -> list[str]:
    """The values with their ops and lines."""
    texts: list[str] = []
    for value in values:
        place = place_of(value.op)
        line = "" if place is None else f" (line {place.line})"
        texts.append(f"{name_of(value)} = {value.op.name}{line}")
    return texts


def _without_floats(array: Array | None) -> Array | None:
    """The array, or zeros if it has floats."""
    return array if array is None or array.dtype.kind not in "fc" else np.zeros_like(array)


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
