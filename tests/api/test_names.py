"""The package offers what the API has."""

from __future__ import annotations

import shardy_py
from shardy_py import api
from shardy_py.search.studies import Study


def test_everything_is_in_the_package() -> None:
    assert shardy_py.__all__ == sorted([*api.__all__, "Study"], key=shardy_py.__all__.index)
    assert shardy_py.Study is Study
    assert all(getattr(shardy_py, name) is getattr(api, name) for name in api.__all__)
    assert set(api.__all__) <= set(dir(shardy_py))
