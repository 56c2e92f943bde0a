"""What is left out of the doctests where an optional package is not installed."""

from importlib.util import find_spec

import pytest

# Doctests import each module; this one is imported by Model Explorer alone.
collect_ignore = [] if find_spec("model_explorer") else ["shardy_py/viewer/model_explorer/main.py"]

_NEEDS = {"shardy_py.ops.compute.special": "scipy"}
"""The package whose functions the examples of a module call."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skips the doctests of modules whose package is missing."""
    for item in items:
        package = _NEEDS.get(item.name)
        if package is not None and find_spec(package) is None:
            item.add_marker(pytest.mark.skip(reason=f"{package} is not installed"))
