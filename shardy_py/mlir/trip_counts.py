"""Trip counts that are given for loops whose number of iterations the program does not tell.

    set_trip_counts(module, TripCounts(default=100, at=(("model.py:12", 8),)))

They are an attribute of the loop, which passes keep. Not here: counts that follow from the program
(`mlir/loops.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64
from xdsl.ir import Attribute, Operation

from shardy_py.base.errors import ShardyError
from shardy_py.base.records import dataclass
from shardy_py.mlir.ir import walk_pre_order
from shardy_py.mlir.location_names import location_text
from shardy_py.ops import TABLE, Control

TRIP_COUNT = "shardy_py.trip_count"
"""The attribute of a loop."""
_EXPECTED = "a number of iterations from 0, or one behind a place: 100, model.py:12=100"


@dataclass(frozen=True, slots=True)
class TripCounts:
    """Numbers of iterations. default: of all loops; None: only of those at places. at: by file and line."""

    default: int | None = None
    at: tuple[tuple[str, int], ...] = ()

    @staticmethod
    def parse(texts: Iterable[str]) -> TripCounts:
        """The counts of options: `100` for all loops, `model.py:12=100` for those at a place.

        Raises ShardyError for other texts.
        """
        default: int | None = None
        at: list[tuple[str, int]] = []
        for text in texts:
            place, _, number = text.rpartition("=")
            if not number.isdecimal() or len(number) > 18:
                raise ShardyError.unexpected("trip count", expected=_EXPECTED, got=f"'{text}'")
            if place:
                at.append((place, int(number)))
            else:
                default = int(number)
        return TripCounts(default, tuple(at))

    @staticmethod
    def of(given: int | Mapping[str, int]) -> TripCounts:
        """The counts of an argument: one for all loops, or by place. Raises ShardyError for other values."""
        if not isinstance(given, int | Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            expected = "a number, or numbers by place"
            raise ShardyError.unexpected("trip count", expected=expected, got=repr(given))
        numbers = [given] if isinstance(given, int) else [*given.values()]
        for number in numbers:
            if type(number) is not int or not 0 <= number < 1 << 62:
                raise ShardyError.unexpected("trip count", expected=_EXPECTED, got=repr(number))
        return TripCounts(given) if isinstance(given, int) else TripCounts(None, tuple(given.items()))


def set_trip_counts(module: ModuleOp, counts: TripCounts) -> None:
    """Gives loops their counts. Raises ShardyError for a place where no loop is."""
    loops = [op for op in walk_pre_order(module) if TABLE[op.name].control is Control.LOOP]
    for loop in loops if counts.default is not None else ():
        loop.attributes[TRIP_COUNT] = IntegerAttr(counts.default or 0, i64)
    for place, number in counts.at:
        found = [loop for loop in loops if _is_at(loop, place)]
        if not found:
            places = sorted({text for loop in loops if (text := location_text(_location(loop)))})
            expected = f"a place of a loop: {', '.join(places[:5])}" if places else "a program with loops"
            raise ShardyError.unexpected("trip count", expected=expected, got=f"'{place}'")
        for loop in found:
            loop.attributes[TRIP_COUNT] = IntegerAttr(number, i64)


def given_trip_count(loop: Operation) -> int | None:
    """The number of iterations that was given for a loop; None if none was."""
    given = loop.attributes.get(TRIP_COUNT)
    return given.value.data if isinstance(given, IntegerAttr) else None


def _location(loop: Operation) -> Attribute | None:
    return getattr(loop, "location", None)


def _is_at(loop: Operation, place: str) -> bool:
    """Returns whether a loop is at `model.py:12`: in a file of that name, maybe in a folder, in that line."""
    words = location_text(_location(loop)).split()
    return any(word == place or word.startswith(f"{place}:") or f"/{place}:" in f"{word}:" for word in words)
