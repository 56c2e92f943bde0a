"""Keys of modules: equal for modules of equal ops, attributes and locations, in the same order.

    keys = ModuleKeys()
    keys.of(module) == keys.of(other)

For programs that a search makes of one source, of which some turn out to be equal. Not here: numbers of
attributes (`numbering.py`), values that are alike (`value_classes.py`).
"""

from __future__ import annotations

from array import array

from xdsl.dialects.builtin import ArrayAttr, ModuleOp
from xdsl.ir import Attribute, Operation

from shardy_py.mlir.ir import blocks_of, operands_of, type_of
from shardy_py.mlir.ir.walking import walked
from shardy_py.mlir.numbering import number_of
from shardy_py.mlir.typed import of_kind

_Form = tuple[type[Operation], tuple[str, ...], tuple[str, ...], int]
"""The class of an op, the names of its properties and attributes, and how many operands it has."""


class ModuleKeys:
    """Makes keys that can be compared with each other, and only within one session of tables.

    Equal modules may have different ones: of large constants that are distinct objects, and after the
    tables of the session have been emptied.
    """

    def __init__(self) -> None:
        self._locations: dict[int, tuple[int, Attribute]] = {}
        """By identity the numbers of locations, and these, so that no other one gets their identity."""
        self._equal: dict[Attribute, int] = {}

    def of(self, module: ModuleOp) -> bytes:
        """Returns the key of a module."""
        ops = walked(module)
        forms: dict[_Form, int] = {}
        places: dict[int, int] = {}
        """By the identity of a value or a block its place among all."""
        found: list[int] = []
        add = found.append
        for op in (module, *ops):
            properties, attributes, operands = op.properties, op.attributes, operands_of(op)
            form = op.__class__, (*properties,), (*attributes,), len(operands)
            add(forms.setdefault(form, len(forms)))
            add(places.get(id(op.parent), -1))
            found += [places.get(id(value), -1) for value in operands]
            for attribute in (*properties.values(), *attributes.values()):
                if attribute.__class__ is ArrayAttr:  # the attributes of many arguments are one large one
                    elements: tuple[Attribute, ...] = of_kind(attribute, ArrayAttr).data
                    found.append(len(elements))
                    found += map(number_of, elements)
                else:
                    add(number_of(attribute))
            add(self._location(op.location))
            for result in op.results:
                places[id(result)] = len(places)
                add(number_of(type_of(result)))
            if op.regions:
                self._add_blocks(op, places, found)
        texts = [(form[0].__qualname__, form[0].name, *form[1:]) for form in forms]
        return repr(texts).encode() + array("q", found).tobytes()

    def _add_blocks(self, op: Operation, places: dict[int, int], found: list[int]) -> None:
        regions = {id(region): number for number, region in enumerate(op.regions)}
        found.append(len(regions))
        for block in blocks_of(op):
            found += regions[id(block.parent)], len(block.args)
            for value in (block, *block.args):
                places[id(value)] = len(places)
            for argument in block.args:
                found += number_of(type_of(argument)), self._location(argument.location)

    def _location(self, location: Attribute) -> int:
        known = self._locations.get(id(location))
        if known is None:
            number = self._equal.setdefault(location, len(self._equal))
            known = self._locations[id(location)] = number, location
        return known[0]
