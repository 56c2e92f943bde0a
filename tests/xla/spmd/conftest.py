"""Tests here compile with the installed jaxlib: they follow its release."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from shardy_py.base import releases
from shardy_py.base.releases import Release


@pytest.fixture(autouse=True)
def _as_the_compiler(release_of_jaxlib: Release) -> Iterator[None]:
    with releases.of(release_of_jaxlib):
        yield
