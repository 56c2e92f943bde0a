"""One measurement in a separate process: `measure.py ours|reference FILE` prints its figures as JSON."""

from __future__ import annotations

import gc
import gzip
import json
import resource
import sys
from importlib import import_module
from pathlib import Path
from time import perf_counter

PIPELINE = "sdy-propagation-pipeline"


def ours(text: str) -> dict[str, float]:
    """Returns seconds per phase and the number of ops; without garbage collection, as in `sdy-opt`."""
    gc.disable()
    from shardy_py.mlir.dialects import parse_module, print_module
    from shardy_py.mlir.ir import walk_pre_order
    from shardy_py.passes.pipelines import propagation_passes
    from shardy_py.passes.runner import run_passes

    passes = propagation_passes()
    for call in passes:
        import_module(call.row.module_name)
    parse_module("module {\n}\n", verified=True)  # loads the dialects and their verifiers
    start = perf_counter()
    module = parse_module(text, verified=True)
    parsed = perf_counter()
    run_passes(module, passes)
    transformed = perf_counter()
    print_module(module)
    printed = perf_counter()
    peak = peak_bytes()
    ops = sum(1 for _ in walk_pre_order(parse_module(text)))
    return {
        "parse": parsed - start,
        "passes": transformed - parsed,
        "print": printed - transformed,
        "peak_bytes": peak,
        "ops": ops,
    }


def reference(text: str) -> dict[str, float]:
    """Returns the same for the C++ Shardy in jaxlib."""
    from jaxlib.mlir import ir, passmanager
    from jaxlib.mlir._mlir_libs import _jax_mlir_ext
    from jaxlib.mlir.dialects import chlo, mhlo, sdy, stablehlo

    registry = ir.DialectRegistry()
    _jax_mlir_ext.register_dialects(registry)
    with ir.Context() as context:
        context.append_dialect_registry(registry)
        for register in (
            chlo.register_chlo_dialect,
            mhlo.register_mhlo_dialect,
            sdy.register_dialect,
            stablehlo.register_dialect,
        ):
            register(context)
        context.load_all_available_dialects()
        pipeline = passmanager.PassManager.parse(f"builtin.module({PIPELINE})")
        start = perf_counter()
        module = ir.Module.parse(text)
        parsed = perf_counter()
        pipeline.run(module.operation)
        transformed = perf_counter()
        str(module)
        printed = perf_counter()
    return {
        "parse": parsed - start,
        "passes": transformed - parsed,
        "print": printed - transformed,
        "peak_bytes": peak_bytes(),
    }


def peak_bytes() -> float:
    """Returns the peak memory of this process, in bytes."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def main(side: str, file: str) -> None:
    data = Path(file).read_bytes()
    text = (gzip.decompress(data) if file.endswith(".gz") else data).decode()
    figures = (ours if side == "ours" else reference)(text)
    print(json.dumps(figures))


if __name__ == "__main__":
    main(*sys.argv[1:])
