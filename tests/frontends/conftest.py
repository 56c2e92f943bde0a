"""What tests of PyTorch's adaptor share: a process that exports many models looks up torch's ops once."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True, scope="session")
def _ops_of_torch() -> Iterator[None]:
    """For each model torch looks up all ops of C++, once for each of its 80 libraries: a third of the time.

    Libraries of C++ come with imports, so that only the first time counts here.
    """
    exporter = sys.modules.get("torch._export.utils")
    name = "_materialize_cpp_cia_ops"
    look_up = getattr(exporter, name, None)
    if look_up is None:  # no torch, or one that does otherwise
        yield
        return
    look_up()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exporter, name, lambda: None)
        yield
