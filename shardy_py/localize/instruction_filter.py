"""The filter of `sdy-per-instruction-partitioning`: which ops are partitioned.

Not here: which ops can be (`per_instruction.py`); only those are counted.
"""

from __future__ import annotations

import re
from dataclasses import replace

from xdsl.ir import Operation

from shardy_py.base.cursor import MAX_INTEGER_DIGITS
from shardy_py.base.errors import ShardyError
from shardy_py.base.records import dataclass

_SELECTION = re.compile(r"(selectLow|selectHigh|func|function)=\s*(.*)")


@dataclass(frozen=True)
class Filter:
    """The ops that are meant: names that theirs contain (none: all), first and last number, function.

    >>> Filter.parse("dot, selectLow=2")
    Filter(names=('dot',), low=2, high=None, function='')
    """

    names: tuple[str, ...] = ()
    low: int | None = None
    high: int | None = None
    function: str = ""

    @staticmethod
    def parse(text: str) -> Filter:
        """Reads comma-separated names, `selectLow=N`, `selectHigh=N` and `func=NAME`, perhaps in quotes."""
        result = Filter()
        for token in filter(None, (part.strip() for part in text.strip().strip("'\"").split(","))):
            match = _SELECTION.fullmatch(token)
            if match is None:
                result = replace(result, names=(*result.names, token))
            elif match[1].startswith("func"):
                result = replace(result, function=match[2])
            elif match[2].isdecimal() and len(match[2]) <= MAX_INTEGER_DIGITS:
                result = replace(result, **{match[1].removeprefix("select").lower(): int(match[2])})
            else:
                raise ShardyError.unexpected(
                    "filter", expected=f"a number after {match[1]}=", got=match[2][:60]
                )
        return result

    def accepts(self, op: Operation, number: int) -> bool:
        """True if the op with that number is meant."""
        if (self.low is not None and number < self.low) or (self.high is not None and number > self.high):
            return False
        return not self.names or any(name in op.name for name in self.names)
