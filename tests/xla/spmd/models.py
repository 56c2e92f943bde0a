"""The planner beside XLA on programs of JAX: `python -m tests.xla.spmd.models [--set SET] [NAME...]`.

Prints the programs that differ, with the bytes by kind, and the shares that are within 2 %. The shardings are
those that XLA propagated; with `--propagated` the programs go our whole way from the text that JAX wrote.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial

import pytest

from shardy_py.base import releases
from tests.eight_devices import run_on_eight_devices
from tests.xla.spmd.compiled import installed, partitioned
from tests.xla.spmd.hlo_programs import comparison, comparison_with, reported

DEVICES = 8


SETS = {
    "jax": (),
    "flax": ("flax", "optax"),
    "equinox": ("equinox", "optax"),
    "parallel": ("optax",),
    "kinds": ("optax",),
    "varied": ("optax",),
    "further": ("optax",),
    "users": (),
    "single": (),
}
"""The sets of programs (`tests/spmd/SET_models.py`), and the packages that they need beside JAX."""


def lowered(names: Sequence[str] = (), set_: str = "jax") -> dict[str, str]:
    """The programs of a set (by default all) by name, as JAX lowers them; skips without its packages."""
    for package in SETS[set_]:
        pytest.importorskip(package)
    return run_on_eight_devices(
        f"from tests.xla.spmd.jax_models import main; from tests.xla.spmd.{set_}_models import programs; "
        f"main({tuple(names)}, programs)"
    )


def comparisons(names: Sequence[str] = (), *, propagates: bool = False, set_: str = "jax") -> dict[str, str]:
    """By program, how the plan compares: `equal`, `equal in total: ...`, `differs: ...`.

    propagates: plan the program of JAX's text, as compiled and propagated by us.
    """
    texts = lowered(names, set_)
    modules = zip(texts.items(), partitioned([*texts.values()], DEVICES), strict=True)
    if propagates:
        return {name: comparison_with(xla, partial(reported, text)) for (name, text), xla in modules}
    return {name: comparison(xla, DEVICES) for (name, _), xla in modules}


@releases.of(installed())
def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--propagated", action="store_true")
    parser.add_argument("--set", choices=SETS, default="jax")
    options = parser.parse_args()
    found = comparisons(options.names, propagates=options.propagated, set_=options.set)
    for name, text in found.items():
        if text != "equal":
            print(f"{name}: {text}")
    total = sum(text.startswith("equal") for text in found.values())
    kinds = sum(text == "equal" for text in found.values())
    print(f"{len(found)} programs: total within 2 % in {total}, every kind in {kinds}")


if __name__ == "__main__":
    main()
