"""All reports and surfaces of the API over random programs: none raises.

`python -m tests.report.all_reports` runs more of them, and shows the first traceback of each fault.
"""

from __future__ import annotations

from itertools import count

import pytest

from tests.report.all_reports import KINDS, run

VALID, LONGEST = 1, 10
MANY = 40


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("first", "kind"), [*enumerate(KINDS)], ids=KINDS)
def test_short_programs(first: int, kind: str) -> None:
    """Of every other kind a program as XLA compiles it."""
    outcome = run(count(first), (kind,), longest=LONGEST, valid=VALID)
    assert not outcome.faults, str(outcome)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", KINDS)
def test_programs(kind: str) -> None:
    outcome = run(count(1000), (kind,), valid=MANY)
    assert not outcome.faults, str(outcome)
