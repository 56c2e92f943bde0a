"""Small programs that were once partitioned wrongly: each is partitioned and proved, in `programs/`."""

from __future__ import annotations

from pathlib import Path

import pytest

from shardy_py import Options, Program, propagate
from shardy_py.run.proof import prove

PROGRAMS = sorted((Path(__file__).parent / "programs").glob("*.mlir"))


@pytest.mark.parametrize(
    ("path", "is_even"),
    [
        # Most programs have arguments and results that are even already.
        pytest.param(
            p, is_, id=f"{is_}-{p.stem}", marks=pytest.mark.slow if is_ and "uneven" not in p.stem else []
        )
        for is_ in (False, True)
        for p in PROGRAMS
    ],
)
def test_the_local_program_equals_the_whole_one(path: Path, is_even: bool) -> None:
    options = Options(update_non_divisible_input_output_shardings=is_even)
    answer = prove(propagate(Program.parse(path.read_text()), options).partition().partitioned)
    answer.check()
    assert answer.tally.elements
