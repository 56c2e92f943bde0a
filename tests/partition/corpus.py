"""Partitions and proves the programs of the corpus: `python -m tests.partition.corpus [NAME...]`."""

from __future__ import annotations

import sys
from time import perf_counter

from shardy_py import Program, propagate
from shardy_py.errors import InternalError, ShardyError
from shardy_py.proof import prove
from tests.conftest import corpus_names, corpus_text
from tests.interpret.corpus import inputs_of
from tests.interpret.custom_functions import register
from tests.interpret.small import SIZES, with_sizes


def proven(name: str) -> tuple[bool, str]:
    """Whether a program is equal, and the answer."""
    register()
    try:
        source = Program.parse(with_sizes(corpus_text(name), SIZES.get(name, {})), f"{name}.mlir")
        start = perf_counter()
        result = propagate(source)
        propagated = perf_counter()
        local = result.partition()
        partitioned = perf_counter()
        answer = prove(local.partitioned, inputs=inputs_of(source))
    except (ShardyError, InternalError) as error:
        return False, f"{type(error).__name__}: {str(error).splitlines()[0]}"
    times = f"propagated in {propagated - start:.2f} s, partitioned in {partitioned - propagated:.2f} s, "
    return answer.is_equal, f"{times}proven in {perf_counter() - partitioned:.2f} s\n{answer}"


def main() -> int:
    """Prints the answers; fails if a program is not equal."""
    names = sys.argv[1:] or corpus_names()
    equal = 0
    for name in names:
        is_equal, text = proven(name)
        equal += is_equal
        print(f"{name}: {text}", flush=True)
    print(f"{equal} of {len(names)} equal")
    return int(equal < len(names))


if __name__ == "__main__":
    sys.exit(main())
