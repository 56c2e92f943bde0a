"""Answers questions about the C++ Shardy in the jaxlib of the Python that runs this file.

That Python needs nothing else. A question is a line of JSON `[kind, text, passes]`, an answer the line
`[status, output]`: status is "", or `FAILED` with the message, or `CRASHED` with the last words. The process
forks a worker that answers; when that dies, the next takes over at the cost of a fork.

| kind | output |
|---|---|
| run, generic | the program after the passes, which are text |
| stages | the programs after each of the passes, which are a list |
| pipeline | the passes, spelled out |
| rules | the derived sharding rule of each op with `test.number`, by that number; passes: options |
"""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import tempfile
from collections.abc import Iterator
from typing import Any

FAILED, CRASHED = "failed", "crashed"


def make_context() -> Any:
    """A context with all dialects. One thread: errors on others can hang."""
    from jaxlib.mlir import ir
    from jaxlib.mlir._mlir_libs import _jax_mlir_ext  # pyright: ignore
    from jaxlib.mlir.dialects import chlo, mhlo, sdy, stablehlo

    context, registry = ir.Context(), ir.DialectRegistry()
    _jax_mlir_ext.register_dialects(registry)
    context.append_dialect_registry(registry)
    chlo.register_chlo_dialect(context)
    mhlo.register_mhlo_dialect(context)
    sdy.register_dialect(context)
    stablehlo.register_dialect(context)
    context.load_all_available_dialects()
    context.enable_multithreading(False)
    return context


def walk(op: Any) -> Iterator[Any]:
    """The ops of a module, each before those inside it."""
    yield op
    for region in op.regions:
        for block in region.blocks:
            for inner in block.operations:
                yield from walk(inner.operation)


def answer(kind: str, text: str, passes: Any) -> Any:
    """The output, within a context."""
    from jaxlib.mlir import ir, passmanager

    def run(some: str, module: Any) -> None:
        if some:
            passmanager.PassManager.parse(f"builtin.module({some})").run(module.operation)

    if kind == "pipeline":
        return str(passmanager.PassManager.parse(f"builtin.module({passes})"))
    module = ir.Module.parse(text)
    if kind == "stages":
        outputs: list[str] = []
        for some in passes:
            run(some, module)
            outputs.append(str(module).rstrip("\n") + "\n")
        return outputs
    if kind == "rules":
        run(f"func.func(sdy-populate-op-sharding-rules{passes})", module)
        found: dict[int, str | None] = {}
        for op in walk(module.operation):
            if "test.number" in op.attributes:
                rule = op.attributes.get("sdy.sharding_rule")
                number = op.attributes["test.number"].value
                found[number] = re.sub(r"^#sdy\.op_sharding_rule", "", str(rule)) if rule else None
        return found
    run(passes, module)
    return module.operation.get_asm(print_generic_op_form=kind == "generic").rstrip("\n") + "\n"


def serve() -> None:
    """Lets one worker after the other answer, and answers for those that die."""
    from jaxlib.mlir import ir

    words = tempfile.TemporaryFile()  # noqa: SIM115 (it is standard error until the process ends)
    os.dup2(words.fileno(), 2)
    while worker := os.fork():
        status = os.waitpid(worker, 0)[1]
        if not os.WIFSIGNALED(status):
            return
        name = signal.Signals(os.WTERMSIG(status)).name
        words.seek(0)
        last = words.read().decode(errors="replace").strip().splitlines()[-1:]
        words.seek(0)
        words.truncate()
        print(json.dumps((CRASHED, " ".join((name, *last)))), flush=True)
    context = make_context()
    for line in sys.stdin:
        try:
            with context:
                reply = ("", answer(*json.loads(line)))
        except (ir.MLIRError, ValueError) as error:
            reply = (FAILED, str(error))
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    serve()
