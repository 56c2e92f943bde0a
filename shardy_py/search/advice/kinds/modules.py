"""Outputs of torch's modules sharded along the axes of their sums: sequence parallelism around norms.

    "layers.*.down": RowwiseParallel(output_layouts=Shard(1)), "layers.*.norm": SequenceParallel()

As `sequence.py`, for programs whose ops have the names of modules. What a user writes there is the style of
a module, in all layers alike: what it returns, and by it the gradients of what it returns and takes. Not
here: the words (`torch_plans.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from xdsl.ir import Operation, SSAValue

from shardy_py.base.records import dataclass
from shardy_py.mlir.dialects.stablehlo import DotGeneralOp
from shardy_py.mlir.ir import operands_of
from shardy_py.mlir.module_paths import is_backward, outputs_of
from shardy_py.mlir.value_table import ValueEntry
from shardy_py.report.communication import CollectiveUse
from shardy_py.search.advice.program import AdvisedProgram, shape_of
from shardy_py.search.advice.remedy import Edit, Proposal
from shardy_py.search.advice.torch_layers import unconstrained
from shardy_py.search.advice.torch_plans import path_of, pattern_of, stream_of
from shardy_py.search.advice.variants import fits
from shardy_py.sharding import AxisRef, DimensionSharding, TensorSharding

_MOST_PATTERNS = 16
"""The patterns of modules of a change: a user writes a line of a plan for each."""

_DIMENSIONS = (1, 0)
"""Positions first, as users of torch do; tokens in a row have no other dimension than the first."""


def between_modules(program: AdvisedProgram, uses: Iterable[CollectiveUse]) -> Iterator[Proposal]:
    """Returns all modules whose product is summed, with outputs sharded along the axes of the sums.

    In one dimension after the other; other products keep these axes. uses: the collectives of the program.
    """
    modules = _modules(program)
    found: dict[tuple[str, ...], dict[str, None]] = {}
    for use in uses:
        op = use.cause.made_for
        entry = program.source_of(op.results[0]) if isinstance(op, DotGeneralOp) else None
        if use.kind == "all_reduce" and entry is not None and not is_backward(entry.op):
            found.setdefault(use.axis_names, {})[pattern_of(path_of(entry.op))] = None
    for names, patterns in found.items():
        sums = [modules[pattern] for pattern in patterns if pattern in modules]
        others = [each for pattern, each in modules.items() if pattern not in patterns]
        if len(sums) == len(patterns) and len(modules) <= _MOST_PATTERNS:
            changes = (tuple(_edits(program, sums, others, names, dimension)) for dimension in _DIMENSIONS)
            yield from filter(None, changes)


@dataclass(frozen=True)
class _Module:
    """Modules alike with a product.

    inputs: the values that their products read. outputs: what they return, and the gradients of it.
    input_gradients: of what they take.
    """

    paths: tuple[str, ...]
    inputs: tuple[ValueEntry, ...]
    outputs: tuple[ValueEntry, ...]
    input_gradients: tuple[ValueEntry, ...]

    def __add__(self, other: _Module) -> _Module:
        return _Module(
            self.paths + other.paths,
            self.inputs + other.inputs,
            self.outputs + other.outputs,
            self.input_gradients + other.input_gradients,
        )


def _edits(
    program: AdvisedProgram,
    sums: Sequence[_Module],
    others: Sequence[_Module],
    names: tuple[str, ...],
    dimension: int,
) -> Iterator[Edit]:
    """The constraints of a change; nothing if a sum does not have such a dimension of that size."""
    edits: list[Edit] = []
    readers: set[str] = set()
    for module in sums:
        sharding = _sharded(program, module.outputs[0], names, dimension)
        first = module.outputs[0].value
        if sharding is None or first is None:
            return
        edits.append(Edit("constraint", module.outputs, sharding))
        edits += _kept(program, module.input_gradients, module.inputs, names)
        readers |= {reader.path for reader in stream_of(first).readers}
    for module in others:
        edits += _kept(program, module.outputs, module.outputs, names, is_said=True)
        if not readers.isdisjoint(module.paths):
            edits += _kept(program, module.inputs, module.inputs, ())
            back = module.input_gradients
            sharding = _sharded(program, back[0], names, dimension) if back else None
            edits += [] if sharding is None else [Edit("constraint", back, sharding, is_implied=True)]
    yield from edits


def _sharded(
    program: AdvisedProgram, entry: ValueEntry, names: tuple[str, ...], dimension: int
) -> TensorSharding | None:
    """The sharding of a value with axes behind the others of a dimension before the last."""
    shape, sharding = shape_of(entry), program.propagated(entry)
    if sharding is None or dimension >= len(shape) - 1:
        return None
    axes = [each.axes for each in sharding.dimensions]
    axes[dimension] = (*axes[dimension], *map(AxisRef, names))
    dimensions = tuple(DimensionSharding(each, is_closed=True) for each in axes)
    return TensorSharding(sharding.mesh, dimensions) if fits(tuple(axes), shape, program.mesh) else None


def _kept(
    program: AdvisedProgram,
    entries: Sequence[ValueEntry],
    like: Sequence[ValueEntry],
    names: tuple[str, ...],
    *,
    is_said: bool = False,
) -> Iterator[Edit]:
    """The constraint that values keep the sharding of others, if it has these axes."""
    sharding = program.propagated(like[0]) if entries and like else None
    if sharding is not None and {a.name for each in sharding.dimensions for a in each.axes} >= {*names}:
        closed = tuple(DimensionSharding(each.axes, is_closed=True) for each in sharding.dimensions)
        yield Edit(
            "constraint", tuple(entries), TensorSharding(sharding.mesh, closed), is_implied=not is_said
        )


def _modules(program: AdvisedProgram) -> Mapping[str, _Module]:
    """The modules with one product and one result, by the pattern of their path."""
    by_path: dict[str, dict[Operation, None]] = {}
    for entry in program.table.entries:
        if entry.role == "intermediate":
            by_path.setdefault(path_of(entry.op), {})[entry.op] = None
    found: dict[str, _Module] = {}
    for path, ops in by_path.items():
        module = _module(program, path, [*ops]) if path else None
        if module is not None:
            pattern = pattern_of(path)
            found[pattern] = found[pattern] + module if pattern in found else module
    return found


def _module(program: AdvisedProgram, path: str, ops: Sequence[Operation]) -> _Module | None:
    forward = [op for op in ops if not is_backward(op)]
    products = [op for op in forward if isinstance(op, DotGeneralOp)]
    outputs = outputs_of(forward, path)
    if len(products) != 1 or len(outputs) != 1:
        return None
    read = unconstrained(operands_of(products[0])[0])
    backward = [op for op in ops if is_backward(op)]

    def entries(values: Iterable[SSAValue]) -> tuple[ValueEntry, ...]:
        known = (program.table.by_value.get(id(value)) for value in values)
        return tuple(dict.fromkeys(entry for entry in known if entry is not None))

    gradients = (value for op in backward for value in op.results if _leaves(value, path, read))
    return _Module(
        (path,),
        entries([read]),
        entries([*outputs, *_gradients(backward, path, outputs[0])]),
        entries(gradients),
    )


def _gradients(backward: Iterable[Operation], path: str, output: SSAValue) -> Iterator[SSAValue]:
    """The gradients of a module's output: what its ops of the backward pass read of that type of others."""
    for op in backward:
        for value in operands_of(op):
            owner = value.owner
            if not isinstance(owner, Operation) or value.type != output.type:
                continue
            if path_of(owner) != path and is_backward(owner):
                yield value


def _leaves(value: SSAValue, path: str, read: SSAValue) -> bool:
    """Returns whether a value of the backward pass is of the type of what a module reads, for others."""
    return value.type == read.type and any(path_of(use.operation) != path for use in value.uses)
