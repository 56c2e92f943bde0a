"""The instructions of a computation as ops of a block: what is common to all opcodes.

Computations that instructions apply become regions, those that are called become functions; those of fusions
and of asynchronous ops are inlined. Not here: opcodes that need more than their row (`special.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import cached_property

from xdsl.dialects.builtin import DictionaryAttr, StringAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from shardy_py.base.errors import ShardyError, located
from shardy_py.base.records import dataclass
from shardy_py.hlo.text import OPCODES, Computation, HloModule, Instruction, Shape, fitting, row_of
from shardy_py.hlo.text.frontend import entries
from shardy_py.hlo.to_stablehlo.emitter import Emitter, Entries, block_of
from shardy_py.hlo.to_stablehlo.locations import Locations
from shardy_py.hlo.to_stablehlo.rows import ATTRIBUTES, BY_OPERAND, REGIONS
from shardy_py.hlo.to_stablehlo.types import Tree, leaf_types, leaves_of, tree_of

SHARDING = "mhlo.sharding"
FRONTEND = "mhlo.frontend_attributes"
Handler = Callable[["ComputationOps", Instruction], Tree]
"""Makes the ops of an instruction and returns its value."""


@dataclass(eq=False)
class Conversion:
    """The module that is converted, and what is made of it.

    functions: the names of computations that are called, by computation, in the order of their first call.
    handlers: of opcodes that become something else than the op of their row.
    places: each op that was made, with its instruction.
    """

    module: HloModule
    locations: Locations
    handlers: Mapping[str, Handler]
    functions: dict[str, str] = field(default_factory=dict[str, str])
    places: list[tuple[Operation, Instruction]] = field(default_factory=list[tuple[Operation, Instruction]])

    def computation(self, name: object) -> Computation:
        """The computation of that name."""
        return self.module.by_name[str(name)]

    def function(self, name: object) -> str:
        """The symbol of the function of a computation, which is made when all others are."""
        text = str(name)
        if text not in self.functions:
            taken = {"main", *self.functions.values()}
            symbol = text if text not in taken else f"{text}_0"
            self.functions[text] = symbol
        return self.functions[text]


class ComputationOps:
    """Makes the ops of one computation.

    values: of its instructions by name.
    """

    def __init__(self, program: Conversion, computation: Computation, emitter: Emitter) -> None:
        self.program = program
        self.computation = computation
        self.emitter = emitter
        self.values: dict[str, Tree] = {}

    def run(self, arguments: Sequence[Tree]) -> Tree:
        """Makes all ops; returns the value of the root.

        Raises:
            ShardyError: an instruction is unsupported or invalid, with its position.
        """
        outer = self.emitter.location
        for instruction in self.computation.instructions:
            self.emitter.location = self.program.locations.of(instruction)
            with located(instruction.position), fitting(instruction):
                if instruction.parameter is not None:
                    self.values[instruction.name] = arguments[instruction.parameter]
                    continue
                try:
                    self.values[instruction.name] = self.value(instruction)
                except ShardyError as error:
                    if error.first.where is not None:
                        raise
                    raise ShardyError(f"'{instruction.opcode}': {error.first.message}") from None
            made = self.emitter.made
            self.program.places += ((op, instruction) for op in made)
            made.clear()
        self.emitter.location = outer
        return self.operand(self.computation.root)

    def value(self, instruction: Instruction) -> Tree:
        """The value of an instruction, whose ops are appended."""
        handler = self.program.handlers.get(instruction.opcode)
        return regular(self, instruction) if handler is None else handler(self, instruction)

    def operand(self, name: str) -> Tree:
        """The value of an operand; an element of a tuple may be written `%pair#1`."""
        if name in self.values:
            return self.values[name]
        of, _, index = name.rpartition("#")
        tree = self.operand(of)
        assert isinstance(tree, tuple)
        return tree[int(index)]

    def operands(self, instruction: Instruction) -> list[Tree]:
        """The values of all operands."""
        return [self.operand(name) for name in instruction.operands]

    def leaves(self, instruction: Instruction) -> list[SSAValue]:
        """The leaves of all operands."""
        return leaves_of(self.operands(instruction))

    def shapes(self, instruction: Instruction) -> tuple[Shape, ...]:
        """The shapes of the leaves of all operands."""
        return tuple(leaf for name in instruction.operands for leaf in self.shape(name).leaves())

    def shape(self, name: str) -> Shape:
        """The shape of an operand."""
        found = self.computation.by_name.get(name)
        if found is not None:
            return found.shape
        of, _, index = name.rpartition("#")
        return self.shape(of).parts[int(index)]

    @cached_property
    def done_shapes(self) -> dict[str, Shape]:
        """The shape of what `X-done` returns, by the name of `X-start`."""
        found: dict[str, Shape] = {}
        for instruction in reversed(self.computation.instructions):
            if instruction.opcode.endswith("-done") and instruction.operands:
                found[instruction.operands[0]] = instruction.shape
            elif instruction.opcode.endswith("-update") and instruction.name in found:
                found[instruction.operands[0]] = found[instruction.name]
        return found

    # ------------------------------------------------------------------ regions

    def inlined(self, name: object, arguments: Sequence[Tree]) -> Tree:
        """Makes the ops of another computation here; returns its value."""
        return ComputationOps(self.program, self.program.computation(name), self.emitter).run(arguments)

    def region(self, name: object, captured: Sequence[Tree] | None = None) -> Region:
        """A region with the ops of a computation, whose parameters are its arguments.

        captured: the values of the parameters, if the region has no arguments.
        """
        computation = self.program.computation(name)
        block, arguments = argument_block(self.program, computation, captured)
        emitter = Emitter(block, self.emitter.location)
        root = ComputationOps(self.program, computation, emitter).run(arguments)
        emitter.emit("stablehlo.return", leaves_of([root]), ())
        return Region(block)


def argument_block(
    program: Conversion, computation: Computation, captured: Sequence[Tree] | None = None
) -> tuple[Block, Sequence[Tree]]:
    """A block with an argument per leaf of the parameters of a computation, and the parameters' values."""
    types: list[Attribute] = []
    locations: list[Attribute] = []
    for parameter in computation.parameters if captured is None else ():
        with located(parameter.position):
            found = leaf_types(parameter.shape)
        types += found
        locations += [program.locations.of(parameter)] * len(found)
    block, arguments = block_of(types, locations)
    if captured is not None:
        return block, captured
    leaves = iter(arguments)
    return block, [tree_of(parameter.shape, leaves) for parameter in computation.parameters]


def regular(body: ComputationOps, instruction: Instruction) -> Tree:
    """The op of the opcode's row."""
    row = row_of(instruction)
    shapes, operands = body.shapes(instruction), body.leaves(instruction)
    if not row.name.startswith(("stablehlo.", "chlo.")):
        raise ShardyError.unsupported(f"opcode '{instruction.opcode}'")
    attributes = OPCODES[row.opcode].convert(instruction, shapes)
    if more := ATTRIBUTES.get(row.opcode):
        attributes |= more(instruction, shapes)
    types = leaf_types(instruction.shape)
    entries = entries_of(instruction)
    regions = REGIONS.get(row.opcode, ())
    if row.opcode in BY_OPERAND and len(operands) > 1:
        results = [
            body.emitter.emit(
                *(row.name, (operand,), (type_,), attributes),
                regions=[body.region(instruction.attributes[name]) for name in regions],
            )[0]
            for operand, type_ in zip(operands, types, strict=True)
        ]
    else:
        made = [body.region(instruction.attributes[name]) for name in regions]
        results = body.emitter.emit(row.name, operands, types, attributes, made, entries)
    return tree_of(instruction.shape, iter(results))


def entries_of(instruction: Instruction) -> Entries:
    """The discardable attributes of an instruction: its sharding and frontend attributes."""
    made: Entries = {}
    if text := frontend_of(str(instruction.attributes.get("frontend_attributes", ""))):
        made[FRONTEND] = text
    if sharding := sharding_text(instruction):
        made[SHARDING] = StringAttr(sharding)
    return made


def sharding_text(instruction: Instruction) -> str:
    """The sharding of an instruction, as text; empty if it has none."""
    return str(instruction.attributes.get("sharding", ""))


def frontend_of(text: str) -> DictionaryAttr | None:
    """Frontend attributes; None if there are none."""
    found = entries(text)
    return DictionaryAttr({name: StringAttr(value) for name, value in found.items()}) if found else None
