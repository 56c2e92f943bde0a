"""Checks a release: builds wheel and sdist, installs each away from the checkout, runs tests from there.

    .venv/bin/python tools/release_check.py [--pythons 3.11,3.13] [--tests PATH ...]

With each Python from 3.11 to 3.14 that is found, in environments of their own below `build/release`: the
wheel with the lowest versions of its dependencies that pyproject.toml allows, and with the newest; the sdist
with the newest. Only wheels of dependencies are installed: where the lowest version has none for a Python, it
is the next minor version. The tests are those of the sdist, with its package taken away, so that
the installed one is tested. An interpreter that is missing is named, and skipped. Needs `build`.

Not here: all tests with each Python (`make matrix`).
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "build" / "release"
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
TESTS = (
    "tests/sharding",
    "tests/api/test_sharding.py",
    "tests/api/test_saved_files.py",
    "tests/cli/test_driver.py",
    "tests/propagation/test_step.py",
    "tests/propagation/test_propagate.py",
)
"""Quick tests that need the dependencies, and no other package than those of `TOOLS`."""
TOOLS = ("pytest", "hypothesis", "filecheck")
_SUMMARY = re.compile(r"[= ]*\d+ (passed|failed|error)")
MOST_MINORS = 12
"""Minor versions that are tried above the lowest one."""


def interpreter(version: str) -> str | None:
    """Returns the path of an interpreter of that version, on the path or of pyenv; None if there is none."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    for each in (f"python{version}", *map(str, sorted(pyenv.glob(f"versions/{version}.*/bin/python")))):
        found = shutil.which(each)
        code = "import sys; print('%d.%d' % sys.version_info[:2])"
        if found and _output([found, "-c", code]) == version:
            return found
    return None


def _output(command: list[str]) -> str:
    """What a command prints, without spaces around; empty if it fails."""
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    return ran.stdout.strip() if ran.returncode == 0 else ""


def build() -> tuple[Path, Path]:
    """Builds both files anew; returns wheel and sdist."""
    shutil.rmtree(OUT / "dist", ignore_errors=True)
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(OUT / "dist"), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    return next((OUT / "dist").glob("*.whl")), next((OUT / "dist").glob("*.tar.gz"))


def tests_of(sdist: Path) -> Path:
    """Returns the folder of an unpacked sdist without its package: tests import the installed one."""
    folder = OUT / "tests"
    shutil.rmtree(folder, ignore_errors=True)
    with tarfile.open(sdist) as archive:
        # Python before 3.11.4 has no filters, and no argument for one.
        archive.extraction_filter = getattr(tarfile, "data_filter", None)
        archive.extractall(folder)
    (top,) = folder.iterdir()
    shutil.rmtree(top / "shardy_py")
    return top


class Environment:
    """A virtual environment of one interpreter."""

    def __init__(self, python: str, name: str) -> None:
        self.folder = OUT / name
        subprocess.run([python, "-m", "venv", "--clear", str(self.folder)], check=True)
        self.python = str(self.folder / "bin" / "python")

    def pip(self, *arguments: str) -> str:
        """Runs `pip install`; returns what it says if it fails, otherwise nothing."""
        command = [self.python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        ran = subprocess.run([*command, *arguments], capture_output=True, text=True, check=False)
        return "" if ran.returncode == 0 else ran.stderr.strip()

    def lowest(self, requirement: str) -> str:
        """Returns the requirement of the lowest allowed version that has a wheel for this interpreter."""
        name, low = re.match(r"([\w.-]+)>=([\d.]+)", requirement).groups()  # type: ignore[union-attr]
        for version in (low, *_next_minors(low)):
            if not self.pip("--dry-run", "--no-deps", "--only-binary", ":all:", f"{name}=={version}"):
                return f"{name}=={version}"
        return requirement

    def versions(self, names: list[str]) -> str:
        """Returns the installed versions of packages."""
        code = (
            "import sys\nfrom importlib.metadata import version\nfor n in sys.argv[1:]: print(n, version(n))"
        )
        return ", ".join(_output([self.python, "-c", code, *names]).splitlines())

    def tested(self, folder: Path, tests: list[str]) -> str:
        """Runs tests; returns the last line that pytest prints, after FAILED unless all pass."""
        command = [self.python, "-m", "pytest", "-p", "no:cacheprovider", *tests]
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        environment["CI"] = "true"  # examples are the same each time, and may take any time
        ran = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        code = "import shardy_py; print(shardy_py.__file__)"
        place = subprocess.run(
            [self.python, "-c", code],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if str(self.folder) not in place.stdout:
            return f"FAILED: not the installed package: {place.stdout or place.stderr}"
        log = self.folder / "tests.log"
        log.write_text(ran.stdout + ran.stderr)
        last = next(
            (line for line in reversed(ran.stdout.splitlines()) if _SUMMARY.match(line)), "no tests ran"
        )
        return f"{'' if ran.returncode == 0 else 'FAILED: '}{last.strip('= ')}; {log.relative_to(ROOT)}"


def _next_minors(low: str) -> Iterator[str]:
    major, minor = (*map(int, low.split(".")[:2]), 0)[:2]
    for _ in range(MOST_MINORS):
        minor += 1
        yield f"{major}.{minor}.0"


def rows(version: str, wheel: Path, sdist: Path, folder: Path, tests: list[str]) -> Iterator[tuple[str, str]]:
    """Yields what was installed with an interpreter, and the result of the tests."""
    python = interpreter(version)
    if python is None:
        yield "", "skipped: no such interpreter"
        return
    needed: list[str] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    names = [re.split(r"[<>=]", each)[0] for each in needed]
    for kind, what in (("lowest", wheel), ("newest", wheel), ("sdist", sdist)):
        environment = Environment(python, f"{version}-{kind}")
        pinned = [environment.lowest(each) for each in needed] if kind == "lowest" else []
        only = [] if kind == "sdist" else ["--only-binary", ":all:"]
        fault = environment.pip(*only, *pinned, str(what)) or environment.pip(*TOOLS)
        result = f"FAILED: {fault.splitlines()[-1]}" if fault else environment.tested(folder, tests)
        yield f"{kind}: {environment.versions(names)}", result


def main() -> int:
    """Prints a line for each environment; returns 1 if one failed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--pythons", default=",".join(PYTHONS), help="versions, separated by commas")
    parser.add_argument("--tests", nargs="*", default=TESTS, help="paths; default: a quick selection")
    options = parser.parse_args()
    wheel, sdist = build()
    folder = tests_of(sdist)
    has_failed = False
    for version in options.pythons.split(","):
        for installed, result in rows(version, wheel, sdist, folder, [*options.tests]):
            print(f"Python {version}: {result}" + (f"\n  {installed}" if installed else ""), flush=True)
            has_failed |= result.startswith("FAILED")
    return int(has_failed)


if __name__ == "__main__":
    sys.exit(main())
