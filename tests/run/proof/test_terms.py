"""Terms of sums and maxima are split among devices, and joined again."""

from __future__ import annotations

import numpy as np
import pytest

from shardy_py.run.proof.shards import Shards
from shardy_py.sharding import AxisRef, DimensionSharding, Mesh, TensorSharding


@pytest.mark.parametrize("reduction", ["sum", "max", "min"])
def test_terms_are_joined_by_their_reduction(reduction: str) -> None:
    sharding = TensorSharding("mesh", (DimensionSharding(),), (), (AxisRef("x"),), reduction)
    shards = Shards.of(sharding, Mesh.of(x=3), (2,), (2,), 3)
    array = np.array([1.5, -2.0])
    assert (shards.joined(shards.split(array, np.nan)) == array).all()
    terms = np.array([[1.0, -2.0], [4.0, 3.0], [-1.0, 0.0]])
    wanted = {"sum": [4.0, 1.0], "max": [4.0, 3.0], "min": [-1.0, -2.0]}[reduction]
    assert shards.joined(terms).tolist() == wanted
