"""What all tests share: the folder of real programs beside the checkout."""

from __future__ import annotations

import gc
import gzip
import json
import os
import signal
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import settings
from hypothesis.internal.conjecture import providers

from shardy_py.base import releases
from shardy_py.base.releases import Release
from tests.differential import references
from tests.differential.reference_process import ReferenceProcess
from tests.differential.reference_server import make_context
from tests.eight_devices import UNOPTIMIZED

ROOT = Path(__file__).resolve().parents[1]
CORPUS = ROOT.parent / "shared" / "corpus"
os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {UNOPTIMIZED}"
"""XLA compiles small programs once, and each is run once: LLVM takes most of the time."""

NO_CORPUS = "the corpus of JAX programs is not there (../shared/corpus beside the checkout)"

# A run that decides what lands gives the same answer each time; elsewhere every run tries new examples.
settings.register_profile("ci", derandomize=True, deadline=None, max_examples=50)
IS_CI = bool(os.environ.get("CI"))
if IS_CI:
    settings.load_profile("ci")
    # Constants of the modules that are loaded would be tried, too: what is loaded differs by what has run.
    providers._get_local_constants = lambda: providers._local_constants


def examples(count: int) -> int:
    """How many examples Hypothesis tries where each is expensive: a third in CI, the same each time."""
    return max(10, count // 3) if IS_CI else count


def pytest_collection(session: pytest.Session) -> None:
    """Has every other worker import the tests from the last to the first.

    On a new checkout each module is compiled when it is first imported: workers that go the same way compile
    all of them, each.
    """
    worker = getattr(session.config, "workerinput", {"workerid": "gw0"})["workerid"]
    if IS_CI and int(worker[2:]) % 2 and session.config.args == session.config.getini("testpaths"):
        for path in sorted(Path(__file__).parent.rglob("test_*.py"), reverse=True):
            with suppress(Exception, pytest.skip.Exception):  # which collection meets again, and reports
                import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))


def pytest_collection_finish() -> None:
    """Collects less: what is imported stays to the end, and looking through it was an eighth of the time.

    Commands freeze what they made, because their process ends: here it is garbage. To count what is frozen,
    as `without_collection` does, takes as long as to look through it.
    """
    gc.collect()
    gc.freeze()
    gc.freeze, gc.get_freeze_count = lambda: None, lambda: 1
    gc.set_threshold(20_000, 20, 20)


def corpus_names() -> list[str]:
    """The names of the programs; empty when the corpus is missing."""
    manifest = CORPUS / "manifest.json"
    return [p["name"] for p in json.loads(manifest.read_text())["programs"]] if manifest.exists() else []


NO_PARAMETERS = SimpleNamespace(params={})
LONGER = "transformer_train_12"
REPEATED = ("transformer_train", LONGER, "transformer_train_48")
"""Long programs: layers over again, of ops that transformer_forward, mlp_train and scan_transformer have."""
WHOLE_CORPUS = ("tests/test_corpus.py::test_propagation",)
"""The tests that run over it each time, but for one of two programs of the same layers."""


def corpus_params(*, is_whole: bool = False) -> list[Any]:
    """The names as parameters of a test; those of repeated layers are for slow tests."""
    slow = pytest.mark.slow
    left = (LONGER,) if is_whole else REPEATED
    return [pytest.param(name, marks=slow) if name in left else name for name in corpus_names()]


def corpus_text(name: str) -> str:
    """The text of `name.mlir`, packed or not."""
    path = CORPUS / f"{name}.mlir"
    return (
        path.read_text()
        if path.exists()
        else gzip.decompress((CORPUS / f"{name}.mlir.gz").read_bytes()).decode()
    )


@pytest.hookimpl(wrapper=True)
def pytest_collect_file() -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Doctests belong to the package: below tests/ a file that is not named `test_*.py` is not imported."""
    return [collector for collector in (yield) if type(collector) is pytest.Module]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test with a parameter `corpus_program` runs once for each program of the corpus."""
    if "corpus_program" in metafunc.fixturenames:
        missing = pytest.param("", marks=pytest.mark.skip(reason=NO_CORPUS))
        is_whole = metafunc.definition.nodeid.split("[")[0] in WHOLE_CORPUS
        metafunc.parametrize("corpus_program", corpus_params(is_whole=is_whole) or [missing])


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks comparisons with releases that are not the running interpreter's: `make test-references`."""
    own = references.installed()
    for item in items:
        release = getattr(item, "callspec", NO_PARAMETERS).params.get("process")
        if release is not None and release is not own:
            item.add_marker("other_release")


@pytest.fixture(autouse=True)
def _collector() -> Iterator[None]:
    """Commands leave the garbage collector off, because their process ends."""
    yield
    gc.enable()


@pytest.fixture(scope="session")
def corpus() -> Callable[[str], str]:
    """`corpus("NAME")` is a program, `corpus("NAME.propagated")` what is expected; skips without them."""
    if not corpus_names():
        pytest.skip(NO_CORPUS)
    return corpus_text


class Reference:
    """The C++ Shardy in jaxlib: reads, runs a pipeline, prints. One thread: errors on others can hang."""

    def __init__(self) -> None:
        self.ir: Any = pytest.importorskip(
            "jaxlib.mlir.ir", reason="jaxlib (extra: reference) is not installed"
        )
        from jaxlib.mlir import passmanager

        self.passmanager: Any = passmanager

    def context(self) -> Any:
        """A fresh context with all dialects."""
        return make_context()

    def run(self, text: str, passes: str = "", *, generic: bool = False, context: Any = None) -> str:
        """The text after the passes of `builtin.module(passes)`, in a fresh context if none is given."""
        with context or self.context():
            module = self.ir.Module.parse(text)
            if passes:
                self.passmanager.PassManager.parse(f"builtin.module({passes})").run(module.operation)
            printed = module.operation.get_asm(print_generic_op_form=generic)
        return printed if printed.endswith("\n") else printed + "\n"

    def output(self, text: str, passes: str = "") -> str:
        """As `ReferenceProcess`: the text after the passes."""
        return self.run(text, passes)

    def stages(self, text: str, passes: Sequence[str]) -> list[str]:
        """As `ReferenceProcess`: the texts after each of the passes."""
        outputs: list[str] = []
        with self.context():
            module = self.ir.Module.parse(text)
            for step in passes:
                self.passmanager.PassManager.parse(f"builtin.module({step})").run(module.operation)
                outputs.append(str(module).rstrip("\n") + "\n")
        return outputs

    def pipeline(self, passes: str) -> str:
        """A pipeline spelled out."""
        with self.context():
            return str(self.passmanager.PassManager.parse(f"builtin.module({passes})"))


@pytest.fixture(scope="session")
def reference() -> Reference:
    """The C++ Shardy of the running interpreter; skips when jaxlib is missing."""
    return Reference()


@pytest.fixture(scope="session")
def release_of_jaxlib() -> Release:
    """The release of JAX that is installed; the newest without one."""
    try:
        from jaxlib import __version__
    except ImportError:
        return releases.NEWEST
    return releases.installed(__version__)[0]


@pytest.fixture(scope="session", params=releases.RELEASES, ids=lambda release: release.name)
def process(request: pytest.FixtureRequest) -> Iterator[ReferenceProcess]:
    """The C++ Shardy of each release; skips those whose jaxlib no Python on this machine has."""
    python = references.found().get(request.param)
    if python is None:
        pytest.skip(references.missing(request.param))
    with ReferenceProcess(python) as process:
        yield process


@pytest.fixture(autouse=True)
def _as_the_reference(request: pytest.FixtureRequest) -> Iterator[None]:
    """Tests that ask for the reference, or are marked by it, follow its release."""
    names = request.fixturenames
    if "process" in names:
        followed = cast(Release, request.node.callspec.params["process"])
    elif "reference" in names or request.node.get_closest_marker("reference") is not None:
        followed = request.getfixturevalue("release_of_jaxlib")
    else:
        followed = releases.current()
    with releases.of(followed):
        yield


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Lets processes that the test starts be interrupted, also where this one ignores SIGINT (`nohup`)."""
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, previous)


@pytest.fixture(scope="session")
def root() -> Path:
    """The root of the checkout."""
    return ROOT
