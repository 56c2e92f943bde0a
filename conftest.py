"""What is left out of the doctests where an optional package is not installed, and how workers report."""

from importlib.util import find_spec

import pytest
from _pytest.runner import runtestprotocol

_IMPORTS = {
    "model_explorer": "shardy_py/viewer/model_explorer/main.py",
    "lsprotocol": "shardy_py/lsp/server.py",
}
"""The modules that import a package where they are imported, as doctests do with each module."""
collect_ignore = [module for package, module in _IMPORTS.items() if find_spec(package) is None]

_NEEDS = {"shardy_py.ops.compute.special": "scipy"}
"""The package whose functions the examples of a module call."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skips the doctests of modules whose package is missing."""
    for item in items:
        package = _NEEDS.get(item.name)
        if package is not None and find_spec(package) is None:
            item.add_marker(pytest.mark.skip(reason=f"{package} is not installed"))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Sends a report for each test from a worker: to send those of its setup and teardown, too, takes longer
    than most tests do. Those are sent that have failed, or skipped the test."""
    if not hasattr(item.config, "workerinput"):
        return None
    for report in runtestprotocol(item, log=False, nextitem=nextitem):
        if report.when == "call" or not report.passed:
            item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True
