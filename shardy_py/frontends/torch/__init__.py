"""PyTorch: exported models and training steps as programs, DTensor's placements and plans in and out.

    exported = torch.export.export(model.eval(), (x,))
    program = from_exported(exported, mesh, {"up.weight": [Replicate(), Shard(0)], "x": P("dp")})
    placements_of(propagate(program))["down.weight"]          (Replicate(), Shard(dim=1))

No process group and no device is needed: a mesh of any size can be a `Mesh` of this package. torch is
imported by the first call of a function. Start at `programs.py`; graphs become programs in `export.py`, after
`decompositions.py`, and training steps in `training.py`; `plans.py` has plans. Not here: ops (`../aten/`).
"""

from shardy_py.frontends.aten import register_aten, unregister_aten
from shardy_py.frontends.torch.launches import Launch, launched, launches, launches_by_axes
from shardy_py.frontends.torch.placements import from_placements, mesh_of, to_placements
from shardy_py.frontends.torch.plans import FullyShard, TensorParallel
from shardy_py.frontends.torch.programs import (
    Placements,
    from_exported,
    from_module,
    placements_of,
    under_plan,
)
from shardy_py.frontends.torch.training import from_training

__all__ = [
    "FullyShard",
    "Launch",
    "Placements",
    "TensorParallel",
    "from_exported",
    "from_module",
    "from_placements",
    "from_training",
    "launched",
    "launches",
    "launches_by_axes",
    "mesh_of",
    "placements_of",
    "register_aten",
    "to_placements",
    "under_plan",
    "unregister_aten",
]
