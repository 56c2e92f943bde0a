"""The program that each device runs: run, proven, measured.

    local = result.partition()
    local.run({"%arg0": x})["result 0"], print(local.prove())

Arrays go in and come out whole: `run` splits them into the parts of the devices, with padding of any content,
and joins the results. Not here: the passes (`localize/`), the proof (`shardy_py/run/proof/`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, get_args

import numpy as np

from shardy_py.api.arguments import expect, expect_flag, expect_integer, expect_one_of
from shardy_py.api.execution import DEFAULT as DEFAULT_RUN
from shardy_py.api.execution import Inputs, arrays_of, run_options
from shardy_py.api.pass_calls import pass_calls
from shardy_py.api.program import Program
from shardy_py.api.run_results import RunResults
from shardy_py.base import releases
from shardy_py.base.errors import Diagnostic, ShardyError
from shardy_py.base.extensions import extension
from shardy_py.base.records import dataclass
from shardy_py.base.session import without_collection
from shardy_py.hardware.cost import DEFAULT, CostModel, cost_model
from shardy_py.indexing.layout.formats import TARGETS, Target
from shardy_py.localize.global_to_local import register_partitioner
from shardy_py.mlir.plain import tensor_type
from shardy_py.ops.compute import Array
from shardy_py.ops.compute.lanes import TOKEN
from shardy_py.passes.partitioned import Partitioned, partition
from shardy_py.report.communication import CommunicationReport
from shardy_py.report.communication.of_program import forecast, local_communication
from shardy_py.report.memory import MemoryReport, memory_report
from shardy_py.run.interpret import Executable, RunLimits, Settings
from shardy_py.run.interpret.inputs import dtype_of
from shardy_py.run.interpret.values import expanded, is_array
from shardy_py.run.proof import Answer, ProofOptions, Shapes, bisected, prove
from shardy_py.run.proof.case import Case
from shardy_py.run.proof.shards import Shards, poison

__all__ = ["LocalProgram", "register_partitioner"]


def local_program(
    whole: Program, events: Sequence[object], options: Mapping[str, bool | int | str | Iterable[str]]
) -> LocalProgram:
    """Returns the program that each device runs of a propagated one.

    events: of the passes that propagated it. options: of `sdy-partitioner-pipeline`, by field name.

    Raises:
        ShardyError: an op cannot be partitioned, or an option is unknown.
    """
    made = partition(whole.module, pass_calls("sdy-partitioner-pipeline", options), events)
    return LocalProgram(whole, made, lambda model: forecast(whole.module, model, events)[1])


@releases.following
@dataclass(frozen=True, eq=False, repr=False)
class LocalProgram:
    """The local program of all devices.

    whole: the program that it was made from. partitioned: both modules, and what corresponds to what.
    forecast: given a cost model, the report on the communication that is required by the whole program.
    """

    whole: Program
    partitioned: Partitioned
    forecast: Callable[[CostModel], CommunicationReport] | None = None

    @property
    def release(self) -> releases.Release:
        """The release of JAX whose Shardy and XLA it follows."""
        return self.whole.release

    @cached_property
    def program(self) -> Program:
        """The local program as a `Program`: its shapes are those of parts."""
        return Program(self.partitioned.local, taken=self.whole.taken)

    @property
    def devices(self) -> int:
        """The number of devices."""
        return self.partitioned.grid.size

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        """The warnings of the partitioner: ops for which whole tensors are gathered."""
        return self.partitioned.warnings

    def text(self) -> str:
        """Returns the local program as MLIR prints it."""
        return self.program.text()

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<LocalProgram of {self.devices} devices>"

    def run(
        self,
        inputs: Inputs = (),
        *,
        max_elements: int = DEFAULT_RUN.max_elements,
        max_steps: int = DEFAULT_RUN.max_steps,
        seed: int = 0,
    ) -> RunResults:
        """Runs the program of all devices with numpy: whole arrays in, whole arrays out.

        inputs: those of the whole program, as for `Program.run`. Padding is poisoned: NaN, lowest integers.

        Raises:
            ShardyError: inputs do not fit, or the program fails.
        """
        given = run_options({"max_elements": max_elements, "max_steps": max_steps, "seed": seed})
        limits = RunLimits(given.max_elements, given.max_steps)
        settings = Settings(grid=self.partitioned.grid, limits=limits, seed=given.seed)
        made = Executable(self.partitioned.local, self._main, settings).run(self._parts(inputs))
        return self._joined(made)

    def run_on_jax(self, inputs: Inputs = (), *, devices: Sequence[object] | None = None) -> RunResults:
        """Runs the program on JAX's devices, a device each: CPUs, GPUs or TPUs, also of several hosts.

        The program runs as it is, compiled by XLA; `run` simulates it. Needs jax.

        inputs: whole arrays, as for `run`; in several processes the same ones in each. All get whole results.
        devices: JAX's, in the order of the program's devices; None: the first of `jax.devices()`.

        Raises:
            ShardyError: JAX has fewer devices, other ones are given, a process of JAX has none of them,
                inputs do not fit, or a token goes in.
        """
        parts = self._parts(inputs)
        if not all(map(is_array, parts)):
            raise ShardyError.unsupported("a token as an input of JAX")
        types = [tensor_type(value.entry.type) for value in self.program.values.results(self._main)]
        results = tuple((tuple(n or 0 for n in t.shape), dtype_of(t).name) for t in types if t is not None)
        run = extension("jax_devices").run_on_devices
        return self._joined(run(self.text(), self._main, results, parts, self.devices, devices))

    def prove(
        self,
        *,
        seed: int = 0,
        inputs: Inputs | None = None,
        shapes: Shapes = "auto",
        bisect: bool = False,
        floats: bool = False,
    ) -> Answer:
        """Returns whether the devices together compute what the whole program does, op by op.

        seed: of random inputs. inputs: given ones instead.
        shapes: "own": the program as it is; "small": with smaller sizes; "ops": each op alone; "auto": the
            first of them that is small enough to run.
        bisect: whether to search for the smallest part that fails, if the program does.
        floats: whether both run in floats, with a bound on differences, instead of exact arithmetic.

        Raises:
            ShardyError: one of the programs cannot run, or inputs are given for smaller shapes.
        """
        expect_one_of("shapes", shapes, get_args(Shapes))
        expect_integer("seed", seed)
        expect_flag("bisect", bisect)
        expect_flag("floats", floats)
        given: Sequence[Array] = ()
        if inputs is not None:
            given = [array[0] for array in arrays_of(self.whole.values.arguments(None), inputs, 1)]
        options = ProofOptions(seed=seed, shapes=shapes, floats=floats)
        answer = prove(self.partitioned, options, given)
        return bisected(answer, options) if bisect else answer

    @without_collection()
    def memory(self, target: Target = "linear") -> MemoryReport:
        """Returns the memory on each device, by liveness of the local values, padded for the target.

        Raises:
            ShardyError: the target is unknown.
        """
        expect_one_of("target", target, TARGETS)
        return memory_report(self.partitioned.local, target)

    @without_collection()
    def communication(self, model: CostModel | str = DEFAULT) -> CommunicationReport:
        """Returns the collectives of the local program, with their axes, bytes, time and causes.

        Its `disagreements` are the ops for which Shardy's reshards alone, the forecast, are others.

        model: as for `Result.communication`.
        """
        expect(model, (str, CostModel), "a CostModel, or the text of one")
        priced = cost_model(model) if isinstance(model, str) else model
        report = local_communication(self.partitioned, priced)
        return report if self.forecast is None else report.compared_with(self.forecast(priced))

    @property
    def _main(self) -> str:
        functions = self.program.functions
        return functions[0] if len(functions) == 1 else "main"

    @cached_property
    def _case(self) -> Case:
        return Case.of(self.partitioned)

    def _parts(self, inputs: Inputs) -> list[Any]:
        arrays = arrays_of(self.whole.values.arguments(None), inputs, 1)
        return [
            TOKEN if shards is None else shards.split(array[0], poison(array.dtype))
            for shards, array in zip(self._inputs, arrays, strict=True)
        ]

    @cached_property
    def _inputs(self) -> list[Shards | None]:
        return self._case.inputs()

    @cached_property
    def _outputs(self) -> list[Shards | None]:
        return self._case.outputs()

    def _joined(self, made: Sequence[object]) -> RunResults:
        arrays = tuple(
            value if shards is None else np.asarray(shards.joined(expanded(value, self.devices)))
            for shards, value in zip(self._outputs, made, strict=True)
        )
        return RunResults(arrays, tuple(self.whole.values.results(None)), {})
