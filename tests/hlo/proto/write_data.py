"""Writes the files in `data/`, which tests read without jaxlib: `python -m tests.hlo.proto.write_data`.

| file | message |
|---|---|
| kinds.hlo.pb | the `HloModuleProto` of tests/hlo/to_stablehlo/kinds.hlo |
| scan.hlo.pb | of scan.hlo beside it, which JAX 0.11 reads; scan.pbtxt is its text |
| ops.hlo.pb | the `HloProto` of filecheck/hlo/ops.hlo |
| ops.snapshot.pb | the `HloSnapshot` of it |

`run.hlo_unoptimized_snapshot.pb` is what XLA dumped when JAX 0.12 ran
`jax.jit(lambda x, y: jnp.tanh(x @ y).sum())` on the host with `--xla_dump_hlo_unoptimized_snapshots`: the
module, and the arguments that it ran with.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from shardy_py.base.wire import bytes_field

DATA = Path(__file__).parent / "data"
ROOT = Path(__file__).parents[3]


def module_proto(path: Path) -> bytes:
    """The module of a text, as XLA serializes it."""
    from jaxlib import _hlo

    hlo: Any = _hlo
    return hlo.hlo_module_from_text(path.read_text()).as_serialized_hlo_module_proto()


def main() -> None:
    """Writes all files."""
    DATA.mkdir(exist_ok=True)
    kinds = module_proto(ROOT / "tests" / "hlo" / "to_stablehlo" / "kinds.hlo")
    ops = bytes_field(1, module_proto(ROOT / "filecheck" / "hlo" / "ops.hlo"))
    (DATA / "kinds.hlo.pb").write_bytes(kinds)
    (DATA / "ops.hlo.pb").write_bytes(ops)
    (DATA / "ops.snapshot.pb").write_bytes(bytes_field(1, ops) + bytes_field(4, b"Host"))


if __name__ == "__main__":
    main()
