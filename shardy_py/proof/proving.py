"""Runs the whole and the local program on the same inputs, and compares them op by op.

    answer = prove(partitioned)
    answer.is_equal, print(answer)

Both run in f64. Inputs come from a seed; their padding, which no result may depend on, is poisoned.

Not here: the comparison of one op (`comparison.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import OpResult, SSAValue

from shardy_py.compute import Array
from shardy_py.compute.lanes import TOKEN
from shardy_py.errors import ShardyError
from shardy_py.graph.cloning import clone
from shardy_py.graph.holders import attribute_list_shardings
from shardy_py.graph.movements import Localized
from shardy_py.graph.plain import tensor_type
from shardy_py.graph.symbols import MAIN, functions_of
from shardy_py.interpret import Executable, Limits, Settings
from shardy_py.interpret.inputs import dtype_of, random_array
from shardy_py.interpret.values import is_array
from shardy_py.ir import operands_of, terminator_of, type_of
from shardy_py.passes.partitioned import Partitioned
from shardy_py.proof.answer import Answer, Fault, fault_of
from shardy_py.proof.comparison import Comparison, WrongValue
from shardy_py.proof.correspondences import Counterpart, counterparts, through_clone
from shardy_py.proof.expected import Expected
from shardy_py.proof.rounding import allowed, is_float
from shardy_py.proof.shards import Shards, poison
from shardy_py.proof.widening import can_widen, widen
from shardy_py.sharding import TensorSharding
from shardy_py.sharding.meshes import resolve
from shardy_py.sharding.slices import local_shape


@dataclass(frozen=True, eq=False)
class Case:
    """A whole and a local program, with what corresponds."""

    whole: ModuleOp
    local: ModuleOp
    partitioned: Partitioned
    found: dict[SSAValue, Counterpart]

    @staticmethod
    def of(partitioned: Partitioned) -> Case:
        """Returns the programs as they are."""
        whole, local = partitioned.whole, partitioned.local
        found = counterparts(whole, local, partitioned.origin, partitioned.events)
        return Case(whole, local, partitioned, found)

    def widened(self) -> Case:
        """Returns copies in f64."""
        origins: tuple[dict[SSAValue, SSAValue], dict[SSAValue, SSAValue]] = ({}, {})
        copies = [
            cast(ModuleOp, clone(module, origin))
            for module, origin in zip((self.whole, self.local), origins, strict=True)
        ]
        for copy in copies:
            widen(copy)
        return replace(self, whole=copies[0], local=copies[1], found=through_clone(self.found, *origins))

    def inputs(self) -> list[Shards | None]:
        """Returns the parts of each argument of the local main; None: not a tensor."""
        return self._border(_arguments, "arg_attrs")

    def outputs(self) -> list[Shards | None]:
        """Returns the parts of each result of the local main; None: not a tensor."""
        return self._border(_results, "res_attrs")

    def _border(
        self, values: Callable[[ModuleOp], Sequence[SSAValue]], attributes: str
    ) -> list[Shards | None]:
        whole = values(self.whole)
        given = attribute_list_shardings(_main(self.whole).properties.get(attributes)) or [None] * len(whole)
        return [self._shards(*pair) for pair in zip(whole, values(self.local), given, strict=True)]

    def _shards(self, whole: SSAValue, local: SSAValue, given: TensorSharding | None) -> Shards | None:
        """The parts of a value at the border; `given`: by the attributes of the function."""
        sizes = [tensor_type(type_of(value)) for value in (whole, local)]
        if sizes[0] is None or sizes[1] is None:
            return None
        shape, part = (tuple(size or 0 for size in tensor.shape) for tensor in sizes if tensor is not None)
        found = self.found.get(local)
        own = None if found is None else found.sharding
        fault: ShardyError | None = None
        # The value may be one of an inlined manual computation, whose sharding has its free axes only. Passes
        # may have changed the sharding of the function: then its parts have other sizes.
        for sharding in (given if self.is_local else None, own):
            if sharding is not None:
                mesh = resolve(sharding.mesh, self.partitioned.meshes)
                if sharding is given and not mesh.is_maximal and local_shape(sharding, mesh, shape) != part:
                    continue
                try:
                    return Shards.of(sharding, mesh, shape, part, self.partitioned.grid.size)
                except ShardyError as error:
                    fault = error
        if fault is not None and shape != part:
            raise fault
        return Shards.of(None, None, shape, part, self.partitioned.grid.size)

    @cached_property
    def is_local(self) -> bool:
        """Returns whether passes made values local."""
        return any(isinstance(event, Localized) for event in self.partitioned.events)


def _main(module: ModuleOp) -> Any:
    functions = functions_of(module)
    return next((f for f in functions if f.sym_name.data == MAIN), functions[0])


def _arguments(module: ModuleOp) -> Sequence[SSAValue]:
    return _main(module).regions[0].blocks[0].args


def _results(module: ModuleOp) -> Sequence[SSAValue]:
    end = terminator_of(_main(module).regions[0])
    assert end is not None
    return operands_of(end)


@dataclass(frozen=True, kw_only=True)
class ProofOptions:
    """How to prove.

    seed: of the inputs. max_elements, max_steps: limits of a run, as in `Program.run`.
    """

    seed: int = 0
    max_elements: int = Limits().elements
    max_steps: int = Limits().steps

    @property
    def limits(self) -> Limits:
        """The limits of a run."""
        return Limits(self.max_elements, self.max_steps)


DEFAULT = ProofOptions()


def prove(partitioned: Partitioned, options: ProofOptions = DEFAULT, inputs: Sequence[Array] = ()) -> Answer:
    """Returns whether all devices compute what the whole program does, and how it was found out.

    inputs: of the whole program, instead of random ones.

    Raises:
        ShardyError: one of the programs cannot run.
    """
    plain_case = Case.of(partitioned)
    given = _with_tokens(partitioned.whole, inputs) or random_inputs(partitioned.whole, options.seed)
    is_wide = can_widen(partitioned.whole)
    case = plain_case.widened() if is_wide else plain_case
    run = _Run(case, options, is_wide)
    with np.errstate(all="ignore"):
        fault = run.compare([_as_run(array, is_wide) for array in given])
    return Answer(
        fault=fault,
        seed=options.seed,
        devices=partitioned.grid.size,
        local_values=sum(isinstance(value, OpResult) for value in case.found),
        tally=run.tally,
        is_wide=is_wide,
    )


def random_inputs(module: ModuleOp, seed: int) -> list[Any]:
    """Returns inputs for the main function: normal floats, integers from 0 to 9; tokens are None."""
    random = np.random.default_rng(seed)
    types = [tensor_type(type_of(argument)) for argument in _arguments(module)]
    return [None if tensor is None else random_array(random, tensor) for tensor in types]


def _with_tokens(module: ModuleOp, inputs: Sequence[Array]) -> list[Any]:
    """The inputs with None for each token; [] if there are none."""
    if not inputs:
        return []
    arrays = iter(inputs)
    return [next(arrays) if tensor_type(type_of(value)) else None for value in _arguments(module)]


def _as_run(array: Any, is_wide: bool) -> Any:
    if array is None or not is_wide or not is_float(array.dtype):
        return array
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def _perturbed(array: Any, seed: int) -> Any:
    """Changes each float by one rounding."""
    if array is None or not is_float(array.dtype):
        return array
    signs = np.random.default_rng(seed).choice((-1.0, 1.0), array.shape)
    epsilon = float(np.finfo(np.float64 if array.dtype.kind in "fc" else np.float32).eps)
    return (array * (1 + epsilon * signs)).astype(array.dtype)


@dataclass(eq=False)
class _Run:
    """The runs of both programs."""

    case: Case
    options: ProofOptions
    is_wide: bool
    comparison: Comparison | None = field(default=None)

    @property
    def tally(self) -> Any:
        assert self.comparison is not None
        return self.comparison.tally

    def compare(self, inputs: list[Any]) -> Fault | None:
        case = self.case
        expected, results = self._whole(inputs)
        moved, moved_results = self._whole([_perturbed(array, self.options.seed + 1) for array in inputs])
        partitioned = case.partitioned
        comparison = self.comparison = Comparison(
            case.found, expected, moved, partitioned.meshes, partitioned.grid.size
        )
        local = [
            TOKEN if shards is None else shards.split(array, poison(array.dtype))
            for shards, array in zip(case.inputs(), inputs, strict=True)
        ]
        settings = Settings(
            grid=partitioned.grid,
            limits=self.options.limits,
            observed=comparison.observed,
            observe=comparison.observe,
            seed=self.options.seed,
        )
        try:
            made = Executable(case.local, _main(case.local).sym_name.data, settings).run(local)
        except WrongValue as error:
            return fault_of(error.wrong, case.local, case.whole)
        return self._compare_results(results, moved_results, made)

    def _whole(self, inputs: list[Any]) -> tuple[Expected, list[Any]]:
        case = self.case
        wanted = frozenset(value for found in case.found.values() for value in found.whole)
        expected = Expected(wanted)
        settings = Settings(
            limits=self.options.limits,
            observed=expected.observed,
            observe=expected.observe,
            seed=self.options.seed,
        )
        lanes = [TOKEN if array is None else array[None] for array in inputs]
        name = _main(case.whole).sym_name.data
        return expected, Executable(case.whole, name, settings).run(lanes)

    def _compare_results(self, whole: list[Any], moved: list[Any], local: list[Any]) -> Fault | None:
        """Compares what the programs return, also where nothing is known of how it was computed."""
        shards = self.case.outputs()
        for number, (wanted, change, made, parts) in enumerate(zip(whole, moved, local, shards, strict=True)):
            if parts is None or not is_array(wanted):
                continue
            if made.shape[1:] != parts.local_shape:
                shapes = str(list(parts.local_shape)), str(list(made.shape[1:]))
                return Fault(
                    f"result {number}", None, "another shape than its type", None, None, None, 0, *shapes
                )
            got, expected = parts.joined(made), wanted[0]
            if is_float(got.dtype):
                bound = allowed(expected, change[0])
                same = (got == expected) | (np.isnan(got) & np.isnan(expected))
                bad = ~(same | (np.abs(got - expected) <= bound))
            else:
                bad = got != expected
            if bad.any():
                at = tuple(int(i) for i in np.unravel_index(int(np.argmax(bad)), bad.shape))
                texts = str(expected[at]), str(got[at])
                return Fault(f"result {number}", None, "wrong value", None, at, at, 0, *texts)
        return None


__all__ = ["Case", "ProofOptions", "dtype_of", "prove", "random_inputs"]
