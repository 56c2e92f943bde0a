"""Two layers; the sharding of the second weight causes an all-gather.

python examples/mlp.py > examples/mlp.mlir          (needs JAX)
"""

import jax
import jax.numpy as jnp
from jax.sharding import AbstractMesh, AxisType, NamedSharding
from jax.sharding import PartitionSpec as P


def layer(x, w_up, w_down):
    """Both weights are sharded by columns, so the second product needs all columns of `hidden`."""
    hidden = jnp.tanh(x @ w_up)
    return hidden @ w_down


mesh = AbstractMesh((4, 2), ("data", "model"), axis_types=(AxisType.Auto,) * 2)


def array(shape, *spec):
    """Returns an argument of that shape, sharded along axes of `mesh`."""
    return jax.ShapeDtypeStruct(shape, jnp.float32, sharding=NamedSharding(mesh, P(*spec)))


arguments = {
    "x": array((512, 1024), "data", None),
    "w_up": array((1024, 4096), None, "model"),
    "w_down": array((4096, 1024), None, "model"),
}

if __name__ == "__main__":
    jax.config.update("jax_hlo_source_file_canonicalization_regex", ".*/")  # no folders in locations
    lowered = jax.jit(layer).trace(*arguments.values()).lower(lowering_platforms=("cpu",))
    print(lowered.as_text(debug_info=True), end="")
