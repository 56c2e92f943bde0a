"""Lowers small JAX programs on eight devices; run as a script, because JAX fixes the devices of a process.

dumped_programs.py gspmd | sdy | hlo      with GSPMD's shardings, with sdy, as HLO of the sdy program
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

SEPARATOR = "// -----"


def main(form: str) -> None:
    """Print the programs in a form, separated as files for MLIR are."""
    os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
    os.environ["JAX_PLATFORMS"] = "cpu"
    import jax

    jax.config.update("jax_use_shardy_partitioner", form != "gspmd")
    print(f"\n{SEPARATOR}\n".join(_text(lowered, form) for lowered in lowered_programs(jax)))


def _text(lowered: Any, form: str) -> str:
    if form != "hlo":
        return lowered.as_text()
    from jaxlib import _jax  # pyright: ignore

    module = _jax.mlir.xla_computation_to_mlir_module(lowered.compiler_ir("hlo"))
    return "\n".join(line for line in module.splitlines())


def lowered_programs(jax: Any) -> list[Any]:
    """The programs as JAX lowers them."""
    import numpy as np

    try:
        from jax.experimental.shard_alike import shard_alike
    except ImportError:  # removed in JAX 0.12

        def shard_alike(a: Any, b: Any) -> Any:
            return a, b

    from jax.sharding import Mesh, NamedSharding
    from jax.sharding import PartitionSpec as P

    mesh = Mesh(np.array(jax.devices()).reshape(4, 2), ("x", "y"))

    def on(*axes: Any) -> NamedSharding:
        return NamedSharding(mesh, P(*axes))

    def constrained(value: Any, *axes: Any) -> Any:
        return jax.lax.with_sharding_constraint(value, on(*axes))

    def shard_map(
        body: Callable[..., Any], in_specs: Any, out_specs: Any, names: set[str] | None = None
    ) -> Any:
        options = {} if names is None else {"axis_names": names}
        return jax.shard_map(body, mesh=mesh, in_specs=in_specs, out_specs=out_specs, **options)

    def matmul(a: Any, b: Any) -> Any:
        c = shard_map(lambda a, b: jax.lax.psum(a @ b, "y"), (P("x", "y"), P("y", None)), P("x", None))(
            constrained(a, "x", None), b
        )
        d = shard_map(lambda a: a * 2, (P("x"),), P("x"), {"x"})(c)
        d = constrained(d, P.UNCONSTRAINED, "y")
        return jax.numpy.sin(d), d

    def loop(a: Any, b: Any) -> Any:
        def repeated(value: Any) -> Any:
            return jax.lax.fori_loop(0, 3, lambda i, value: jax.numpy.sin(value), value)

        specs = (P("x", "y"), P("y", None))
        c, d = shard_map(lambda a, b: (repeated(a), b + 1), specs, specs)(a, b)
        c = repeated(c)
        return jax.jit(lambda value: constrained(value * 3, None, "x"))(c), d

    def layers(a: Any, b: Any) -> Any:
        value = constrained(a @ b, ("x", "y"), None)
        return constrained(jax.numpy.tanh(value), None, ("y", "x")), value.sum(axis=0)

    def mapped(a: Any, b: Any) -> Any:
        local = jax.jit(lambda c: jax.lax.with_sharding_constraint(c * 2, P(None, "y")))
        c = shard_map(lambda a, b: local(a @ b), (P("x"), P()), P("x"), {"x"})(a, b)
        c, d = shard_alike(c + 1, jax.numpy.cos(c))
        return c, jax.pure_callback(lambda value: value, d, d)

    a = jax.ShapeDtypeStruct((16, 8), "float32")
    b = jax.ShapeDtypeStruct((8, 32), "float32")
    into = (on("x", "y"), on("y", None))
    return [
        jax.jit(matmul, in_shardings=into, out_shardings=(on("x", None), None)).lower(a, b),
        jax.jit(loop, in_shardings=into, out_shardings=(on("x", None), on())).lower(a, b),
        jax.jit(layers, in_shardings=into).lower(a, b),
        jax.jit(mapped).lower(a, b),
    ]


if __name__ == "__main__":
    main(sys.argv[1])
