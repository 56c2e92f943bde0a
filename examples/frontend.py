"""A frontend in fifty lines: layers with named dimensions, and rules that map them to mesh axes.

python examples/frontend.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from shardy_py import Mesh, P, Result, propagate
from shardy_py.frontends.builder import (
    Argument,
    build,
    einsum,
    ops,
    reduce_max,
    reduce_sum,
    sharding_constraint,
    tensor,
)

RULES = {"batch": "data", "heads": "model", "hidden": "model"}
"""The mesh axis of each named dimension; others are not sharded."""


@dataclass(frozen=True)
class Parameter:
    """A weight: its name, and its dimensions by name with their sizes."""

    name: str
    dimensions: dict[str, int]

    @property
    def argument(self) -> Argument:
        """Returns the argument for the weight, sharded by the rules."""
        spec = P(*(RULES.get(name) for name in self.dimensions))
        return Argument(tensor(tuple(self.dimensions.values()), "bf16"), spec, self.name)


def attention(x: Any, wq: Any, wk: Any, wv: Any, wo: Any) -> Any:
    """Multi-head attention."""
    q, k, v = (einsum("bsd,dhk->bshk", x, w) for w in (wq, wk, wv))
    scores = einsum("bshk,bthk->bhst", q, k) * 0.125
    peak = ops.broadcast_in_dim(reduce_max(scores, (3,)), scores.shape, (0, 1, 2))
    weights = ops.exponential(scores - peak)
    total = ops.broadcast_in_dim(reduce_sum(weights, (3,)), scores.shape, (0, 1, 2))
    mixed = ops.reshape(einsum("bhst,bthk->bshk", weights / total, v), (*x.shape[:2], -1))
    return sharding_constraint(x + mixed @ wo, P("data"))


def compile_attention(mesh: Mesh, batch: int = 32, seq: int = 128, d: int = 256, heads: int = 8) -> Result:
    """Propagates the layer on a mesh with axes "data" and "model"."""
    qkv = {"model_size": d, "heads": heads, "head_size": d // heads}
    parameters = [Parameter(name, qkv) for name in ("wq", "wk", "wv")]
    parameters.append(Parameter("wo", {"hidden": d, "model_size": d}))
    x = Parameter("x", {"batch": batch, "seq": seq, "model_size": d})
    return propagate(build(attention, *(p.argument for p in (x, *parameters)), mesh=mesh))


if __name__ == "__main__":
    result = compile_attention(Mesh.of(data=4, model=2))
    for value in (*result.values.arguments(), *result.values.results()):
        print(f"{value.label or value.name:9} {value.sharding!s:45} {value.shape} -> {value.local_shape}")
    print(result.summary())
