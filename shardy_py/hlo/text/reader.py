"""The reader of HLO text: `read_module`.

Reads the text that XLA prints, in long and short forms: `%` before names and shapes of operands are optional;
an operand `%pair#1` is an element of a tuple.
Invalid text is a `ShardyError` with line and column. Names must be defined before their uses, as in XLA's
text, so that modules are not recursive.

>>> module = read_module('''HloModule twice
... ENTRY main {
...   p = f32[4] parameter(0)
...   ROOT sum = f32[4] add(p, p)
... }''')
>>> module.entry_computation.by_name["sum"].operands
('p', 'p')
"""

from __future__ import annotations

from shardy_py.hlo.text.attributes import read_attribute
from shardy_py.hlo.text.opcodes import OPCODES, is_opcode
from shardy_py.hlo.text.values import ELEMENTS, Computation, HloModule, Instruction, read_shape
from shardy_py.indexing.layout import HloCursor
from shardy_py.ops import names

_TABLES = ("FileNames", "FunctionNames", "FileLocations", "StackFrames")
_SIGIL = "%"
"""How the name of a computation begins, which may come without the header of a module."""
_CALLING = names("""to_apply calls condition body select scatter true_computation false_computation
    called_computations branch_computations""")


def read_module(text: str, file: str = "-", *, first_line: int = 1) -> HloModule:
    """Returns the module of `text`; `file` is its name in diagnostics, where it begins at `first_line`."""
    return _ModuleReader(HloCursor(text, file, first_line=first_line)).module()


class _ModuleReader:
    def __init__(self, cursor: HloCursor) -> None:
        self.cursor = cursor
        self.known: dict[str, Computation] = {}

    def module(self) -> HloModule:
        cursor = self.cursor
        name, attributes = "module", dict[str, str]()
        if cursor.token != "ENTRY" and cursor.token[:1] != _SIGIL:
            cursor.expect("HloModule")
            name = cursor.name("the name of the module")
            attributes = self.header()
        tables = dict(iter(self.table, None))
        entry = ""
        while cursor.kind != "end":
            start = cursor.offset
            is_entry = cursor.accept("ENTRY")
            computation = self.computation()
            if computation.name in self.known:
                cursor.error(f"computation '{computation.name}' is defined twice", start)
            self.known[computation.name] = computation
            if is_entry and entry:
                cursor.error("the module has two entry computations", start)
            entry = computation.name if is_entry else entry
        if not self.known:
            cursor.unexpected("a computation")
        # by default, XLA uses the last computation
        return HloModule(name, tuple(self.known.values()), entry or [*self.known][-1], attributes, tables)

    def header(self) -> dict[str, str]:
        attributes: dict[str, str] = {}
        while self.cursor.accept(","):
            name = self.cursor.name("the name of an attribute")
            self.cursor.expect("=")
            attributes[name] = self.cursor.raw()
        return attributes

    def table(self) -> tuple[str, str] | None:
        cursor = self.cursor
        if cursor.token not in _TABLES:
            return None
        name, start, end = cursor.advance(), cursor.offset, cursor.offset
        while cursor.kind == "number":
            cursor.advance()
            cursor.raw()
            end = cursor.previous_end
        return name, cursor.text[start:end]

    def computation(self) -> Computation:
        cursor = self.cursor
        name = cursor.name("a computation")
        if cursor.token == "(":
            cursor.enclosed()  # the parameters repeat the signature
            cursor.expect("->")
            read_shape(cursor)
        opening = cursor.offset
        cursor.expect("{")
        instructions: dict[str, Instruction] = {}
        root = ""
        while not cursor.accept("}"):
            start = cursor.offset
            is_root = cursor.token == "ROOT" and cursor.following() != "=" and cursor.accept("ROOT")
            instruction = self.instruction(instructions)
            if instruction.name in instructions:
                cursor.error(f"instruction '{instruction.name}' is defined twice", start)
            if is_root and root:
                cursor.error(f"computation '{name}' has two roots", start)
            instructions[instruction.name] = instruction
            root = instruction.name if is_root else root
        if not instructions:
            cursor.error(f"computation '{name}' has no instructions", opening)
        computation = Computation(
            name, tuple(instructions.values()), root or [*instructions][-1], self.header()
        )
        if [i.parameter for i in computation.parameters] != list(range(len(computation.parameters))):
            cursor.error(f"the parameters of '{name}' must be numbered from 0, each once", opening)
        return computation

    def instruction(self, known: dict[str, Instruction]) -> Instruction:
        cursor = self.cursor
        start = cursor.offset
        name = cursor.name("an instruction")
        cursor.expect("=")
        shape = read_shape(cursor)
        if not is_opcode(cursor.token):
            cursor.unexpected("an opcode")
        opcode = cursor.advance()
        operands, literal, parameter = self.arguments(opcode, known)
        attributes: dict[str, object] = {}
        while cursor.accept(","):
            at = cursor.offset
            key, value = read_attribute(cursor)
            if key in attributes:
                cursor.error(f"attribute '{key}' is given twice", at)
            if key in _CALLING:
                self.check_called(value, at)
            attributes[key] = value
        instruction = Instruction(
            name, opcode, shape, operands, attributes, literal, parameter, cursor.position(start)
        )
        self.check(instruction, start)
        return instruction

    def arguments(
        self, opcode: str, known: dict[str, Instruction]
    ) -> tuple[tuple[str, ...], str | None, int | None]:
        cursor = self.cursor
        if opcode == "constant":
            if not cursor.at("("):
                cursor.unexpected("'('")
            return (), cursor.enclosed(), None
        if opcode == "parameter":
            cursor.expect("(")
            number = cursor.integer()
            cursor.expect(")")
            return (), None, number
        return tuple(cursor.items(lambda: self.operand(known), "(", ")")), None, None

    def operand(self, known: dict[str, Instruction]) -> str:
        cursor = self.cursor
        if cursor.at("(") or (cursor.token in ELEMENTS and cursor.following() == "["):
            read_shape(cursor)
        start = cursor.offset
        name = cursor.name("an operand")
        if name not in known:
            cursor.error(f"instruction '{name}' is not defined before its use", start)
        while cursor.accept("#"):
            name = self.element(known, name, start)
        return name

    def element(self, known: dict[str, Instruction], of: str, start: int) -> str:
        """The name of the instruction that an operand `%pair#1` stands for, which `known` receives.

        XLA writes elements of tuples so where it keeps no get-tuple-element; no name of the text has a `#`.
        """
        cursor = self.cursor
        at, index = cursor.offset, cursor.integer()
        parts = known[of].shape.parts
        if not 0 <= index < len(parts):
            got = f"a tuple of {len(parts)}" if known[of].shape.is_tuple else "an array"
            cursor.error(f"'{of}' has no element {index}: it is {got}", at)
        name = f"{of}#{index}"
        if name not in known:
            position = cursor.position(start)
            known[name] = Instruction(
                name, "get-tuple-element", parts[index], (of,), {"index": index}, position=position
            )
        return name

    def check_called(self, value: str | tuple[str, ...], offset: int) -> None:
        for name in (value,) if isinstance(value, str) else value:
            if name not in self.known:
                self.cursor.error(f"computation '{name}' is not defined before its use", offset)

    def check(self, instruction: Instruction, offset: int) -> None:
        """Checks required attributes and the number of operands, which conversions rely on."""
        row = OPCODES.get(instruction.opcode)
        if row is None:
            return
        for fault in row.faults(instruction):
            self.cursor.error(fault, offset)
