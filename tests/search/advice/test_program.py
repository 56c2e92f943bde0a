"""Values whose paths end alike are found as by a look at each."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import cast

from shardy_py.mlir.value_table import ValueEntry
from shardy_py.search.advice.program import Tails, named_alike


def test_tails_are_those_that_end_alike_in_program_order() -> None:
    draw = random.Random(0)
    for _ in range(200):
        names = ["".join(draw.choices("ab", k=draw.randrange(5))) for _ in range(draw.randrange(12))]
        values = [cast(ValueEntry, SimpleNamespace(name=name)) for name in names]
        tails = Tails(zip(names, values, strict=True))
        for tail in ("", "a", "ba", "aab", *names):
            expected = [value for name, value in zip(names, values, strict=True) if named_alike(tail, name)]
            assert list(map(id, tails.alike(tail))) == list(map(id, expected))
