"""The process that `bytecode.py` starts: MLIR bytecode on standard input, its text on standard output.

Its argument is the processor time in seconds that reading may take. Its memory is limited, as damaged sizes
may ask for all of it. Exit codes other than 0: 3 without jaxlib, 4 if
the bytecode is invalid, with the reason on standard output.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from importlib import import_module
from math import ceil
from time import process_time
from typing import Any

_MEMORY_BYTES = 8 << 30


def _limit(name: str, amount: int) -> None:
    with suppress(ImportError, ValueError, OSError):  # not on every platform
        resource = import_module("resource")
        resource.setrlimit(getattr(resource, name), (amount, amount + 1))


def read(data: bytes, seconds: int) -> tuple[int, str]:
    """Returns the exit code, and the text of the module or the reason why there is none.

    seconds: the processor time it may take once jaxlib is imported.
    """
    try:
        jax_mlir = import_module("jax._src.interpreters.mlir")
        ir: Any = import_module("jaxlib.mlir.ir")
        stablehlo = import_module("jaxlib.mlir.dialects.stablehlo")
    except ImportError:
        return 3, ""
    _limit("RLIMIT_CPU", ceil(process_time()) + seconds)
    with jax_mlir.make_ir_context():
        try:
            try:
                module = stablehlo.deserialize_portable_artifact(ir.Context.current, data)
            except Exception:
                module = ir.Module.parse(data)
        except Exception as error:
            return 4, str(error)
        return 0, module.operation.get_asm(enable_debug_info=True)


if __name__ == "__main__":
    _limit("RLIMIT_DATA", _MEMORY_BYTES)
    code, text = read(sys.stdin.buffer.read(), int(sys.argv[1]))
    sys.stdout.buffer.write(text.encode("utf-8", "surrogateescape"))
    sys.stdout.flush()
    sys.exit(code)
