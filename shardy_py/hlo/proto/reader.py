"""Reads HLO modules from protocol buffers, into the same values as text: `read_proto`.

Files hold an `HloModuleProto`, an `HloProto` with one, or a snapshot (`HloSnapshot`,
`HloUnoptimizedSnapshot`), whose first field is one of these. Not here: the fields (`schema.py`).
"""

from __future__ import annotations

from collections.abc import Callable

from shardy_py.base.errors import ShardyError, WholeFile, located
from shardy_py.base.hlo_protos import module_in
from shardy_py.hlo.proto.attributes import attributes_of, escaped, frontend_text
from shardy_py.hlo.proto.message import HloMessage, decoded
from shardy_py.hlo.proto.shapes import literal_of, shape_of
from shardy_py.hlo.text import OPCODES, Computation, HloModule, Instruction, fitting
from shardy_py.hlo.text.opcodes import is_opcode

ShardingText = Callable[[bytes], str]
"""Returns the text of an `OpSharding`."""
_CALLED: dict[str, tuple[str, ...]] = {
    "while": ("body", "condition"),
    "select-and-scatter": ("select", "scatter"),
}
"""The attributes of the computations that an opcode names, in order; of others it is one."""
_LISTED = {"conditional": "branch_computations", "custom-call": "called_computations", "fusion": "calls"}
"""Opcodes whose attribute names several computations."""


def read_proto(data: bytes, file: str, sharding_text: ShardingText) -> HloModule:
    """Returns the module in a file.

    Raises:
        ShardyError: there is none, or it is invalid.
    """
    found = module_in(data)
    with located(WholeFile(file)):
        if found is None:
            raise ShardyError.unexpected("", expected="an HLO module", got="another protocol buffer")
        module = decoded(found, "HloModuleProto")
        return _ModuleReader(module, file, sharding_text).module()


class _ModuleReader:
    def __init__(self, message: HloMessage, file: str, sharding_text: ShardingText) -> None:
        self.message = message
        self.place = WholeFile(file)
        self.sharding_text = sharding_text
        self.names: dict[int, str] = {}
        self.sequences = {
            each.integer("key"): each.message("value").integers("instruction_ids")
            for each in message.message("schedule").messages("sequences")
        }

    def module(self) -> HloModule:
        message, computations = self.message, dict[str, Computation]()
        for each in message.messages("computations"):
            computation = self.computation(each)
            if computation.name in computations:
                raise ShardyError(f"computation '{computation.name}' is defined twice")
            computations[computation.name] = computation
            self.names[each.integer("id")] = computation.name
        entry = self.names.get(message.integer("entry_computation_id"), "")
        entry = entry or message.text("entry_computation_name")
        if entry not in computations:
            raise ShardyError(f"the module has no entry computation '{entry}'")
        frontend = frontend_text(message)
        attributes = {"frontend_attributes": frontend} if frontend else {}
        if self.sequences:
            attributes["is_scheduled"] = "true"
        if aliases := _aliases(message):
            attributes["input_output_alias"] = aliases
        name = message.text("name") or "module"
        return HloModule(name, tuple(computations.values()), entry, attributes, _tables(message))

    def computation(self, message: HloMessage) -> Computation:
        name = message.text("name")
        made: dict[str, Instruction] = {}
        by_id: dict[int, str] = {}
        for each in message.messages("instructions"):
            instruction = self.instruction(each, by_id)
            if instruction.name in made:
                raise ShardyError(f"instruction '{instruction.name}' is defined twice")
            made[instruction.name] = instruction
            by_id[each.integer("id")] = instruction.name
        root = by_id.get(message.integer("root_id"))
        if root is None:
            raise ShardyError(f"computation '{name}' has no root")
        computation = Computation(name, self.scheduled(message.integer("id"), made, by_id), root)
        if [i.parameter for i in computation.parameters] != list(range(len(computation.parameters))):
            raise ShardyError(f"the parameters of '{name}' must be numbered from 0, each once")
        return computation

    def scheduled(
        self, number: int, made: dict[str, Instruction], by_id: dict[int, str]
    ) -> tuple[Instruction, ...]:
        """The instructions of a computation in the order in which they run, if the module tells."""
        listed = self.sequences.get(number, ())
        names = [by_id[each] for each in listed if each in by_id]
        if sorted(names) != sorted(made):
            return tuple(made.values())
        places = {name: place for place, name in enumerate(names)}
        if any(places[operand] >= places[each.name] for each in made.values() for operand in each.operands):
            raise ShardyError("the schedule has an instruction before one of its operands")
        return tuple(made[name] for name in names)

    def instruction(self, message: HloMessage, known: dict[int, str]) -> Instruction:
        name, opcode = message.text("name"), message.text("opcode")
        if not is_opcode(opcode):
            raise ShardyError(f"instruction '{name}' has an unknown opcode '{opcode[:40]}'")
        missing = next((each for each in message.integers("operand_ids") if each not in known), None)
        if missing is not None:
            raise ShardyError(f"instruction '{name}': operand {missing} is not defined before its use")
        try:
            attributes = attributes_of(message) | self.called(message)
            if "sharding" in message:
                attributes["sharding"] = self.sharding_text(message.data("sharding"))
            shape = shape_of(message.data("shape"))
            literal = literal_of(message.data("literal")) if "literal" in message else None
        except ShardyError as error:
            raise ShardyError(f"instruction '{name}': {error.first.message}") from None
        made = Instruction(
            name,
            opcode,
            shape,
            tuple(known[each] for each in message.integers("operand_ids")),
            attributes,
            literal,
            message.integer("parameter_number") if opcode == "parameter" else None,
            self.place,
        )
        self.check(made)
        return made

    def called(self, message: HloMessage) -> dict[str, object]:
        """The attributes that name computations, which must be defined before."""
        ids, opcode = message.integers("called_computation_ids"), message.text("opcode")
        missing = next((each for each in ids if each not in self.names), None)
        if missing is not None:
            raise ShardyError(f"computation {missing} is not defined before its use")
        names = tuple(self.names[each] for each in ids)
        if not names:
            return {}
        if opcode.startswith("async-"):
            return {"calls": names}
        if opcode in _LISTED:
            return {_LISTED[opcode]: names}
        keys = _CALLED.get(opcode, ("to_apply",))
        return dict(zip(keys, names, strict=False))

    def check(self, instruction: Instruction) -> None:
        """Checks required attributes and the number of operands, as the reader of text does."""
        row = OPCODES.get(instruction.opcode)
        if row is None:
            return
        with fitting(instruction):
            for fault in row.faults(instruction):
                raise ShardyError(f"instruction '{instruction.name}': {fault}")


def _aliases(message: HloMessage) -> str:
    """The results in the memory of arguments, as the header of text has them."""
    entries = [
        f"{{{_listed(each, 'output_shape_index')}}}: ({each.integer('parameter_number')}, "
        f"{{{_listed(each, 'parameter_shape_index')}}}, may-alias)"
        for each in message.message("input_output_alias").messages("entries")
    ]
    return f"{{ {', '.join(entries)} }}" if entries else ""


def _listed(message: HloMessage, name: str) -> str:
    return ", ".join(map(str, message.integers(name)))


def _tables(message: HloMessage) -> dict[str, str]:
    """The tables of source lines, as text has them."""
    index = message.message("stack_frame_index")
    rows = {
        "FileNames": [escaped(name) for name in index.texts("file_names")],
        "FunctionNames": [escaped(name) for name in index.texts("function_names")],
        "FileLocations": [_fields(each) for each in index.messages("file_locations")],
        "StackFrames": [_fields(each, parent_frame_id=1) for each in index.messages("stack_frames")],
    }
    return {
        name: "\n".join(f"{number} {text}" for number, text in enumerate(texts, 1))
        for name, texts in rows.items()
    }


def _fields(message: HloMessage, **more: int) -> str:
    """The integers of a message; `more` is added to a field, as text counts parents from 1."""
    values = {**dict.fromkeys(more, 0), **message.values}
    return "{" + " ".join(f"{name}={value + more.get(name, 0)}" for name, value in values.items()) + "}"
