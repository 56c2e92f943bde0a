"""Times reading one program as text, as MLIR bytecode and as a portable artifact, which jaxlib writes.

    python benchmarks/bytecode.py [program.mlir.gz]

prints seconds of processor time, and the ratio to text with locations, which bytecode has too.
"""

from __future__ import annotations

import io
import sys
from pathlib import Path
from time import process_time
from typing import Any

from shardy_py.base.inputs.files import source_in
from shardy_py.base.session import SESSION, without_collection
from shardy_py.mlir.bytecode import parse_program

CORPUS = Path(__file__).parents[2] / "shared" / "corpus" / "transformer_train_12.mlir.gz"
TRIES = 5


def contents(text: str) -> dict[str, str | bytes]:
    """Returns the program in each form."""
    from jax._src.interpreters import mlir
    from jaxlib import _jax
    from jaxlib.mlir import ir
    from jaxlib.mlir.dialects import stablehlo

    written: Any = _jax.mlir
    with mlir.make_ir_context():
        module: Any = ir.Module.parse(text)
        bytecode = io.BytesIO()
        module.operation.write_bytecode(bytecode)
        located = module.operation.get_asm(enable_debug_info=True)
        artifact = written.serialize_portable_artifact(module, stablehlo.get_current_version(), True)
    return {"text": located, "bytecode": bytecode.getvalue(), "artifact": artifact}


def seconds(content: str | bytes) -> tuple[float, float]:
    """Returns the time of the first reading, with empty memo tables, and the best of the others."""
    SESSION.clear()
    times: list[float] = []
    for _ in range(TRIES):
        start = process_time()
        with without_collection():
            parse_program(content)
        times.append(process_time() - start)
    return times[0], min(times[1:])


def main() -> None:
    path = sys.argv[1] if len(sys.argv) > 1 else str(CORPUS)
    forms = contents(source_in(path).text)
    parse_program(forms["text"])  # imports the dialects
    measured = {name: (len(content), *seconds(content)) for name, content in forms.items()}
    _, first_of_text, best_of_text = measured["text"]
    for name, (size, first, best) in measured.items():
        print(
            f"{name:9}{size:10,} bytes: first {first:6.3f} s ({first / first_of_text:.2f}), "
            f"then {best:6.3f} s ({best / best_of_text:.2f})"
        )


if __name__ == "__main__":
    main()
