"""The planner beside XLA on the programs of `jax_models.py`: `python -m tests.spmd.models [NAME...]`.

Prints the programs that differ, with the bytes by kind, and the shares that are within 2 %. The shardings are
those that XLA propagated; with `--propagated` the programs go our whole way from the text that JAX wrote.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial

from tests.eight_devices import run_on_eight_devices
from tests.spmd.compiled import partitioned
from tests.spmd.hlo_programs import comparison, comparison_with, reported

DEVICES = 8


def lowered(names: Sequence[str] = ()) -> dict[str, str]:
    """The programs (by default all) by name, as JAX lowers them."""
    return run_on_eight_devices(f"from tests.spmd.jax_models import main; main({tuple(names)})")


def comparisons(names: Sequence[str] = (), *, propagates: bool = False) -> dict[str, str]:
    """By program, how the plan compares: `equal`, `equal in total: ...`, `differs: ...`.

    propagates: plan the program of JAX's text, as compiled and propagated by us.
    """
    texts = lowered(names)
    modules = zip(texts.items(), partitioned([*texts.values()], DEVICES), strict=True)
    if propagates:
        return {name: comparison_with(xla, partial(reported, text)) for (name, text), xla in modules}
    return {name: comparison(xla, DEVICES) for (name, _), xla in modules}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--propagated", action="store_true")
    options = parser.parse_args()
    found = comparisons(options.names, propagates=options.propagated)
    for name, text in found.items():
        if text != "equal":
            print(f"{name}: {text}")
    total = sum(text.startswith("equal") for text in found.values())
    kinds = sum(text == "equal" for text in found.values())
    print(f"{len(found)} programs: total within 2 % in {total}, every kind in {kinds}")


if __name__ == "__main__":
    main()
