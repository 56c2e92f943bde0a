"""Reads ops whose lines are known: an op's line without the names of its values is its signature.

The first op of a signature is read token by token (`reader.py`); every further one costs a dictionary look-up
and the creation of the op (see `recipes.py` for why that is sound). Runs of such lines are read in one loop.
"""

from __future__ import annotations

import re
from abc import ABC
from collections.abc import Callable, Sequence

from xdsl.ir import Attribute, BlockArgument, Operation, Region

from shardy_py.mlir.ir import append_plain, build_operation, keep_file_name, set_location, type_of
from shardy_py.mlir.ir.op_index import current_index
from shardy_py.mlir.text.cursor import TOKEN
from shardy_py.mlir.text.location_aliases import LocationAliases
from shardy_py.mlir.text.location_syntax import PendingLocation
from shardy_py.mlir.text.recipes import LONGEST_LINE, VALUE, Recipe, Repeats, follower, repeated_signature
from shardy_py.mlir.text.region_reader import RegionReader
from shardy_py.mlir.text.source import Source
from shardy_py.mlir.text.syntax import SyntaxTable

_ALIAS_LOCATION = " loc(#"
_SPACE = re.compile(r"[ \t\r\n]*+")


class LineReader(RegionReader, ABC):
    """Reads lines of known signatures.

    recipes: signatures of lines, by the dialect whose name may be left out.
    repeats: the ops made from recipes, but for the first of each recipe in a block.
    later_locations: those behind the module, None until its first op is read.
    remake: makes the regions of the op read last, where its line describes them completely.
    """

    __slots__ = ("later_locations", "recipes", "remake", "repeats", "use_recipes")

    def __init__(self, source: Source, syntax: SyntaxTable, *, allow_unregistered: bool = False) -> None:
        super().__init__(source, syntax)
        self.allow_unregistered = allow_unregistered
        self.recipes: dict[str, dict[str, Recipe]] = {}
        self.remake: Callable[[Attribute | None], Sequence[Region]] | None = None
        self.repeats: Repeats = {}
        self.use_recipes = True
        self.later_locations: LocationAliases | None = None

    def known_recipes(self) -> dict[str, Recipe]:
        """The recipes by signature, where the cursor is."""
        return self.recipes.setdefault(self.default_dialects[-1], {})

    def known_lines(self) -> bool:
        """Reads ops from the cursor on, one a line, up to the first of an unknown signature.

        Returns whether there was one.
        """
        text, recipes = self.text, self.known_recipes()
        find, split, continues = text.find, VALUE.split, text.startswith
        repeat = self._repeat if current_index() is None else self._repeat_any
        start, previous_end = self.offset, -1
        margin = _margin(text, start)
        while self.use_recipes and (end := find("\n", start, start + LONGEST_LINE)) >= 0:
            written, alias, at = text[start:end], None, 0
            if written[-1] == ")":
                written, alias, at = split_location(written)
            parts = split(written)
            recipe = recipes.get("%".join(parts[::2]))
            if recipe is None:
                if len(set(parts[1::2])) == len(parts) // 2:
                    break
                recipe = recipes.get(repeated_signature(parts))
                if recipe is None:
                    break
            following = end + len(margin)
            is_alike = continues(margin, end) and text[following : following + 1] in recipe.followers
            if not is_alike:
                following = self._after(recipe, end)
                if following < 0:
                    break
            location = recipe.location if alias is None else self._aliased(alias, start + at)
            if not repeat(recipe, parts, start, location):
                break
            start, previous_end = following, end
            if not is_alike:
                margin = _margin(text, start)
        if previous_end < 0:
            return False
        self.move_to(start)
        self.previous_end = previous_end
        return True

    def _after(self, recipe: Recipe, end: int) -> int:
        """The offset of the token behind a line that ends at `end`; -1 if it may belong to the line's op."""
        following = _SPACE.match(self.text, end).end()  # pyright: ignore[reportOptionalMemberAccess]
        if self.text[following : following + 1] in recipe.followers:
            return following
        token = TOKEN.match(self.text, end)
        return -1 if token is None or follower(token[1]) not in recipe.followers else token.start(1)

    def _aliased(self, alias: str, offset: int) -> Attribute | PendingLocation:
        """The location of an alias, at `offset`; pending while the alias is not defined."""
        later = self.later_locations
        found = self.aliases.get(alias) or (later and later.locations.get(alias))
        return found or PendingLocation(alias, offset)

    def _repeat(
        self, recipe: Recipe, parts: list[str], start: int, location: Attribute | PendingLocation | None
    ) -> bool:
        """Makes the op of a known signature; False where a name or type requires reading the line."""
        if not recipe.is_plain or isinstance(location, PendingLocation):
            return self._repeat_any(recipe, parts, start, location)
        values, name = self.values, parts[1]
        if name in values or name in self.forward or len(parts) != recipe.part_count:
            return False
        try:
            operands = [*map(values.__getitem__, parts[3::2])]
        except KeyError:
            return False
        if [*map(type_of, operands)] != recipe.operand_types:
            return False
        block = self.block
        values[name] = made = append_plain(
            recipe.op_class,
            operands,
            recipe.result_types[0],
            recipe.properties.copy(),
            recipe.attributes.copy(),
            location,
            block,
            name,
            self.source.places,
            start + len(name) + recipe.name_shift,
        )
        if recipe.block is block:
            recipe.repeats.append(made.op)
        else:
            self._note_first(recipe)
        self.offsets.append(start)
        return True

    def _repeat_any(
        self, recipe: Recipe, parts: list[str], start: int, location: Attribute | PendingLocation | None
    ) -> bool:
        """`_repeat` for ops with regions, any number of results, and locations that are not known yet."""
        count, values = recipe.name_count, self.values
        if len(parts) != recipe.part_count:
            return False  # a `%` without a name looks like one in the signature
        try:
            operands = [values[name] for name in parts[1 + 2 * count :: 2]]
        except KeyError:
            return False
        if [*map(type_of, operands)] != recipe.operand_types:
            return False
        names = parts[1 : 2 * count : 2]
        if not values.keys().isdisjoint(names) or (
            self.forward and not self.forward.keys().isdisjoint(names)
        ):
            return False
        if location is None:
            place = start + sum(map(len, parts[: 2 * count])) + recipe.name_shift
            location = self.source.places(place)
        remake = recipe.remake
        known = None if isinstance(location, PendingLocation) else location
        op = build_operation(
            recipe.op_class,
            operands,
            recipe.result_types,
            recipe.properties.copy(),
            recipe.attributes.copy(),
            known,
            self.block,
            () if remake is None else remake(known),
        )
        if known is None:
            self.remake = remake
            self.locate(op, location)
        self.define_results(op, [(n, c, start) for n, c in zip(names, recipe.result_counts, strict=True)])
        if recipe.block is self.block:
            recipe.repeats.append(op)
        else:
            self._note_first(recipe)
        return True

    def _note_first(self, recipe: Recipe) -> None:
        """Notes that further ops of the recipe in the current block are repetitions."""
        recipe.block, recipe.repeats = self.block, self.repeats.setdefault(id(self.block), [])

    def define_results(self, op: Operation, names: list[tuple[str, int, int]]) -> None:
        """Binds names, each with its number of results and its offset, to the results of `op`."""
        results = iter(op.results)
        for name, count, offset in names:
            value = next(results)
            self.define(name, value, offset)
            keep_file_name(value, f"{name}#0" if count > 1 else name)
            if count > 1:
                self.define(f"{name}#0", value, offset)
                for index in range(1, count):
                    value, part = next(results), f"{name}#{index}"
                    self.define(part, value, offset)
                    keep_file_name(value, part)

    def locate(self, op: Operation, location: Attribute | PendingLocation) -> None:
        """Gives an op, and the regions that its line describes, an explicit location."""
        holders: list[Operation | BlockArgument] = [op]
        if self.remake is not None and op.regions:
            block = op.regions[0].block
            holders += [*block.args, *block.ops]
        for holder in holders:
            if isinstance(location, PendingLocation):
                self.pending_locations.append((holder, location))
            else:
                set_location(holder, location)


_NO_MARGIN = "\n\n"


def _margin(text: str, start: int) -> str:
    """The line break and white space before a line that begins as far right as the one with `start`.

    One that no such line has if other text comes before `start` in its line.
    """
    indent = text[text.rfind("\n", 0, start) + 1 : start]
    return _NO_MARGIN if indent.strip(" ") else "\n" + indent


def split_location(line: str) -> tuple[str, str | None, int]:
    """A line without a location that is an alias, the alias, and the offset of its `#`.

    >>> split_location("%0 = add %a, %b loc(#loc3)")
    ('%0 = add %a, %b', 'loc3', 20)
    """
    if line[-1] == ")" and (at := line.rfind(_ALIAS_LOCATION)) >= 0:
        alias = line[at + len(_ALIAS_LOCATION) : -1]
        if ")" not in alias:
            return line[:at], alias, at + len(_ALIAS_LOCATION) - 1
    return line, None, 0
