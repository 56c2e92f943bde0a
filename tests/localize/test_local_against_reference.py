"""Programs made local as C++ Shardy makes them, where that survives.

Not compared: sub-axes, whose positions jaxlib's version computes as if they were more major.
"""

from __future__ import annotations

import pytest

from shardy_py.base import releases
from tests.differential.modes import run_ours, spelled
from tests.differential.reference_process import CRASHED, FAILED, ReferenceProcess
from tests.localize.test_global_to_local import MOVES, OPS, SHUFFLED, program

STEPS = (("sdy-convert-global-to-local", ""),)

BETTER = {
    "sum from an initial value": "every device adds the initial value",
    "gather the largest of what devices hold": "zeros where there is nothing to find",
    "size of a dimension": "the size of the part",
}
"""What is wrong there, by program."""


IN_0_11 = ("scatter rows",)
"""Programs whose new ops have shardings in JAX 0.11 only."""


@pytest.mark.parametrize("name", [name for name, case in (MOVES | OPS).items() if ":(" not in str(case)])
def test_same_text(name: str, process: ReferenceProcess) -> None:
    text = f"{SHUFFLED}\n{program(*(MOVES | OPS)[name])}"
    status, theirs = process.run(text, spelled(STEPS))
    if status in (CRASHED, FAILED):
        pytest.skip(f"C++: {theirs[:200]}")
    if name in IN_0_11 and releases.current() is releases.JAX_0_11:
        pytest.skip("the partitioner of JAX 0.11 is not followed everywhere")
    ours = run_ours(text, STEPS)
    if name in BETTER:
        assert ours != theirs
        return
    assert ours == theirs
