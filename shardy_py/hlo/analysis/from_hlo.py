"""HLO computations as functions.

Tuples are flattened: each parameter and each result is one tensor. Each computation is converted once.

>>> from shardy_py.hlo.text import read_module
>>> module = read_module('''HloModule m
... ENTRY main {
...   p = (f32[4], f32[4]) parameter(0)
...   a = f32[4] get-tuple-element(p), index=0
...   b = f32[4] get-tuple-element(p), index=1
...   ROOT sum = f32[4] add(a, b)
... }''')
>>> function = hlo_function(module)
>>> function.nodes[0].operands, function.parameter_names
((0, 1), ('p.0', 'p.1'))
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from shardy_py.base.errors import Diagnostic, ShardyError
from shardy_py.hlo.analysis.function import Body, Form, Function, Node, Numbering, element_of
from shardy_py.hlo.text import (
    Computation,
    HloModule,
    Instruction,
    Shape,
    fitting,
    leaf_types,
    record_of,
    row_of,
)
from shardy_py.ops import OpRecord, TensorType

Values = tuple[int, ...]
Types = Sequence[TensorType | None]


def hlo_function(module: HloModule, computation: str = "") -> Function:
    """The computation of that name as a function; by default the entry computation."""
    name = computation or module.entry
    if name not in module.by_name:
        raise ShardyError.unknown("computation", name, module.by_name)
    return hlo_functions(module)[name]


def hlo_functions(module: HloModule) -> dict[str, Function]:
    """All computations as functions, by name."""
    functions: dict[str, Function] = {}
    for computation in module.computations:  # each follows those it calls
        functions[computation.name] = _Converter(module, computation, functions).function()
    return functions


class _Converter:
    def __init__(self, module: HloModule, computation: Computation, functions: dict[str, Function]) -> None:
        self.module = module
        self.computation = computation
        self.functions = functions
        self.numbering = Numbering()
        self.values: dict[str, Values] = {}

    def function(self) -> Function:
        computation = self.computation
        for parameter in computation.parameters:
            leaves = self.numbering.parameters(parameter.name, leaf_types(parameter.shape))
            self.values[parameter.name] = leaves
        for instruction in computation.instructions:
            if instruction.name not in self.values:
                self.convert(instruction)
        return self.numbering.function(computation.name, self.values[computation.root])

    def convert(self, instruction: Instruction) -> None:
        operands = tuple(self.values[name] for name in instruction.operands)
        stem, _, last = instruction.opcode.rpartition("-")
        phase = last if last in ("start", "update", "done") and stem not in ("send", "recv") else ""
        wires = _WIRES.get(instruction.opcode) or _FINISHING.get(phase)
        with fitting(instruction):
            if wires is not None:
                parts = tuple(self.computation.by_name[name].shape for name in instruction.operands)
                passed = self.values[instruction.name] = wires(instruction, operands, parts)
                types = [self.numbering.types[value] for value in passed]
                if phase != "update" and not _fit(types, leaf_types(instruction.shape)):
                    what = f"'{instruction.opcode}' {instruction.name}: other shape than its operands"
                    raise ShardyError(Diagnostic(what, instruction.position))
                return
            record = record_of(instruction, self.computation, self.module.by_name)
            if phase == "start":
                record = replace(record, results=_started(instruction))
        flat = tuple(value for leaves in operands for value in leaves)
        form, bodies = self.bodies(instruction, operands, record)
        node = Node(instruction.name, record, flat, form, bodies, instruction.position)
        self.numbering.nodes.append(node)
        self.values[instruction.name] = self.numbering.results(record.results)

    def bodies(
        self, instruction: Instruction, operands: tuple[Values, ...], record: OpRecord
    ) -> tuple[Form, tuple[Body, ...]]:
        form = row_of(instruction).form
        if form in ("op", "wires"):
            return "op", ()
        types = record.operands
        total = sum(map(len, operands))
        bodies: list[Body] = []
        start = len(operands[0]) if form == "branches" else 0
        for number, name in enumerate(_CALLED[form](instruction)):
            function = self.functions[name]
            end = total
            if form == "branches":
                end = start + len(operands[number + 1]) if number + 1 < len(operands) else start
            bodies.append(Body(function, tuple(range(start, end))))
            start = end if form == "branches" else 0
            given = [types[place] for place in bodies[-1].inputs]
            returned = function.result_types
            if form == "loop" and not number:
                is_fitting = len(returned) == 1
            else:
                is_fitting = _fit(returned, record.results)
            if not is_fitting or not _fit(given, function.parameters):
                what = f"'{instruction.opcode}' {instruction.name}: other operands or results than '{name}'"
                raise ShardyError(Diagnostic(what, instruction.position))
        return form, tuple(bodies)


def _fit(given: Types, expected: Types) -> bool:
    """Returns whether shapes are those expected; element types may differ, and an unbounded size fits any."""
    return len(given) == len(expected) and all(map(_fits, given, expected))


def _fits(given: TensorType | None, expected: TensorType | None) -> bool:
    if given is None or expected is None:
        return given is expected
    sizes = zip(given.shape, expected.shape, strict=False)
    return given.rank == expected.rank and all(a == b or a is None or b is None for a, b in sizes)


def _started(instruction: Instruction) -> tuple[TensorType | None, ...]:
    """The types of the results of an asynchronous op once it is done."""
    shape = instruction.shape
    if instruction.opcode == "all-reduce-start":
        return leaf_types(shape)
    return leaf_types(shape.parts[0 if instruction.opcode == "copy-start" else 1])


def _branches(instruction: Instruction) -> tuple[str, ...]:
    attributes = instruction.attributes
    if "branch_computations" in attributes:
        return attributes["branch_computations"]
    return tuple(attributes[name] for name in ("true_computation", "false_computation") if name in attributes)


def _called(instruction: Instruction) -> tuple[str, ...]:
    attributes = instruction.attributes
    return (attributes["to_apply"],) if "to_apply" in attributes else attributes.get("calls", ())


_CALLED: dict[str, Callable[[Instruction], tuple[str, ...]]] = {
    "call": _called,
    "branches": _branches,
    "loop": lambda i: (i.attributes["condition"], i.attributes["body"]),
}
"""The computations that an instruction of each form runs."""

Wires = Callable[[Instruction, tuple[Values, ...], tuple[Shape, ...]], Values]


def _all(instruction: Instruction, operands: tuple[Values, ...], shapes: tuple[Shape, ...]) -> Values:
    return tuple(value for leaves in operands for value in leaves)


def _first(instruction: Instruction, operands: tuple[Values, ...], shapes: tuple[Shape, ...]) -> Values:
    return operands[0]


def _element(instruction: Instruction, operands: tuple[Values, ...], shapes: tuple[Shape, ...]) -> Values:
    counts = [len(leaf_types(part)) for part in shapes[0].parts]
    return element_of(operands[0], counts, instruction.attributes["index"])


_WIRES: dict[str, Wires] = {
    "tuple": _all,
    "opt-barrier": _all,
    "get-tuple-element": _element,
    "add-dependency": _first,
}
"""The values that an op passes on which is not a node."""
_FINISHING: dict[str, Wires] = {"update": _first, "done": _first}
"""Phases of an asynchronous op that pass on the results of its start."""
