"""A whole and a local program, with what corresponds to what, as they are and in f64.

Not here: running them (`proving.py`), reading the events of the passes (`correspondences.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import OpResult, SSAValue

from shardy_py.base.records import dataclass
from shardy_py.mlir.cloning import clone
from shardy_py.mlir.ir import operands_of, terminator_of, type_of
from shardy_py.mlir.movements import LocalSignature
from shardy_py.mlir.plain import tensor_type
from shardy_py.mlir.symbols import MAIN, function_name, functions_of
from shardy_py.passes.partitioned import Partitioned
from shardy_py.run.proof.correspondences import Counterpart, counterparts, through_clone
from shardy_py.run.proof.shards import Shards
from shardy_py.run.proof.widening import widen
from shardy_py.run.proof.zero_signs import drop_zero_signs
from shardy_py.sharding import TensorSharding
from shardy_py.sharding.meshes import resolve


@dataclass(frozen=True, eq=False)
class Case:
    """A whole and a local program, with what corresponds.

    sources: from values of `whole` to those that they are copies of.
    """

    whole: ModuleOp
    local: ModuleOp
    partitioned: Partitioned
    found: dict[SSAValue, Counterpart]
    sources: Mapping[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])

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
            clone(module, origin) for module, origin in zip((self.whole, self.local), origins, strict=True)
        ]
        for copy in copies:
            widen(copy)
            drop_zero_signs(copy)
        found, sources = through_clone(self.found, *origins), {new: old for old, new in origins[0].items()}
        return replace(self, whole=copies[0], local=copies[1], found=found, sources=sources)

    def in_field(self, prepare: Callable[[ModuleOp], Callable[[], None]]) -> Case:
        """Returns copies in f64, which keep roundings.

        prepare: sees a copy with its own types, and returns what is called when it is wide.
        """
        origins: tuple[dict[SSAValue, SSAValue], dict[SSAValue, SSAValue]] = ({}, {})
        copies = [
            clone(module, origin) for module, origin in zip((self.whole, self.local), origins, strict=True)
        ]
        for copy in copies:
            finish = prepare(copy)
            widen(copy, keeps_roundings=True)
            finish()
        found, sources = through_clone(self.found, *origins), {new: old for old, new in origins[0].items()}
        return replace(self, whole=copies[0], local=copies[1], found=found, sources=sources)

    def untaken(self, done: Collection[SSAValue]) -> frozenset[SSAValue]:
        """Returns the values of the whole program, before copies, that no device computed.

        They are in branches not taken. done: values of the local program that were computed.
        """
        reached = {whole for value in done for whole in self.found[value].whole}
        ops = [entry for entry in self.found.values() if isinstance(entry.value, OpResult)]
        missing = {whole for entry in ops for whole in entry.whole if whole not in reached}
        return frozenset(self.sources.get(value, value) for value in missing)

    def inputs(self) -> list[Shards | None]:
        """Returns the parts of each argument of the local main; None: not a tensor."""
        signature = self.signature
        return self._border(arguments_of, None if signature is None else signature.arguments)

    def outputs(self) -> list[Shards | None]:
        """Returns the parts of each result of the local main; None: not a tensor."""
        signature = self.signature
        return self._border(results_of, None if signature is None else signature.results)

    @cached_property
    def signature(self) -> LocalSignature | None:
        """Returns the shardings with which the main function became local; None if no pass made it local."""
        name = function_name(main_of(self.local))
        signatures = (event for event in self.partitioned.events if isinstance(event, LocalSignature))
        return next((signature for signature in signatures if signature.name == name), None)

    def _border(
        self,
        values: Callable[[ModuleOp], Sequence[SSAValue]],
        given: Sequence[TensorSharding | None] | None,
    ) -> list[Shards | None]:
        pairs = list(zip(values(self.whole), values(self.local), strict=True))
        if given is None:
            found = (self.found.get(local) for _, local in pairs)
            given = [None if counterpart is None else counterpart.sharding for counterpart in found]
        return [
            self._shards(*pair, own) for pair, own in zip(pairs, given or [None] * len(pairs), strict=True)
        ]

    def _shards(self, whole: SSAValue, local: SSAValue, sharding: TensorSharding | None) -> Shards | None:
        sizes = [tensor_type(type_of(value)) for value in (whole, local)]
        if sizes[0] is None or sizes[1] is None:
            return None
        shape, part = (tuple(size or 0 for size in tensor.shape) for tensor in sizes if tensor is not None)
        mesh = None if sharding is None else resolve(sharding.mesh, self.partitioned.meshes)
        return Shards.of(sharding, mesh, shape, part, self.partitioned.grid.size)


def main_of(module: ModuleOp) -> FuncOp:
    """Returns the main function, or the first one."""
    functions = functions_of(module)
    return next((f for f in functions if function_name(f) == MAIN), functions[0])


def arguments_of(module: ModuleOp) -> Sequence[SSAValue]:
    """Returns the arguments of the main function."""
    return main_of(module).args


def results_of(module: ModuleOp) -> Sequence[SSAValue]:
    """Returns what the main function returns."""
    end = terminator_of(main_of(module).body)
    assert end is not None
    return operands_of(end)
