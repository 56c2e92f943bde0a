"""Bytes of parameters, states and inputs on a device, as torch's tracker of FSDP counts them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("torch.distributed._tools.fsdp2_mem_tracker")

# Models are made with torch, so their imports come behind that line.
# ruff: noqa: E402
from torch import distributed
from torch.testing._internal.distributed.fake_pg import FakeStore

from tests.frontends.fsdp_memory import CASES, RANKS, ours, theirs

pytestmark = [pytest.mark.torch, pytest.mark.slow]
STEP_BYTES = 4
"""Of the count of steps, which torch has for each parameter, a program once."""


@pytest.fixture
def _group() -> Iterator[None]:
    distributed.init_process_group("fake", rank=0, world_size=RANKS, store=FakeStore())
    yield
    distributed.destroy_process_group()


@pytest.mark.usefixtures("_group")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CASES)
def test_shards_are_as_large_as_those_of_torch(name: str) -> None:
    case = CASES[name]
    expected, found = theirs(case), ours(case)
    count = len(list(case.model().parameters()))
    assert found["Parameter"] == expected["Sharded Param"]
    assert found["Input"] == expected["Inputs"]
    assert found["Optstate"] + STEP_BYTES * (count - 1) == expected["OptState"]
