"""Writes the files of `data/` by jaxlib: the programs there in versions of the format, and of VHLO.

    python -m tests.mlir.bytecode.write_data

`NAME.format.txt` and `NAME.vhlo.txt` are what jaxlib reads from them, as text with locations: artifacts of
old versions are canonicalized when they are written.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "data"
FORMATS = (0, 1, 3, 4, 5, 6)
VERSIONS = {"ops": ("0.9.0", "0.14.0", "0.15.0", "1.0.0", "1.5.0", "1.10.0"), "sharded": ("1.12.0",)}


def main() -> None:
    """Writes all."""
    from jax._src.interpreters import mlir
    from jaxlib import _jax
    from jaxlib.mlir import ir
    from jaxlib.mlir.dialects import stablehlo

    written: Any = _jax.mlir
    made: Any = ir.Module
    with mlir.make_ir_context() as context:
        for name, versions in VERSIONS.items():
            text = (DATA / f"{name}.mlir").read_text()
            files: dict[str, tuple[bytes, Any]] = {}
            for version in FORMATS:
                output = io.BytesIO()
                made.parse(text).operation.write_bytecode(output, desired_version=version)
                files[f"format_{version}"] = output.getvalue(), made.parse(output.getvalue())
            for version in versions:
                data = written.serialize_portable_artifact(made.parse(text), version, name == "sharded")
                files[f"vhlo_{version}"] = data, stablehlo.deserialize_portable_artifact(context, data)
            for kind, (data, module) in files.items():
                (DATA / f"{name}.{kind}.mlirbc").write_bytes(data)
                expected = module.operation.get_asm(enable_debug_info=True)
                (DATA / f"{name}.{kind.partition('_')[0]}.txt").write_text(expected)


if __name__ == "__main__":
    main()
