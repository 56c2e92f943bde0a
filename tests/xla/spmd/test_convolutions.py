"""The planner of convolutions beside XLA; more of them: `python -m tests.xla.spmd.convolutions`."""

from __future__ import annotations

from shardy_py.xla.spmd.convolutions import Convolution
from tests.xla.spmd.convolutions import differing, random_case


def test_convolutions_send_what_xla_sends() -> None:
    count, wrong = differing([random_case(seed) for seed in range(100)])
    assert count >= 98
    assert not wrong


def test_spatial_dimensions_with_one_window_are_contracted() -> None:
    """As in the gradient of the kernel of a convolution with a small image."""
    numbers = {"input_batch_dimension": 0, "input_feature_dimension": 3, "input_spatial_dimensions": (1, 2)}
    numbers |= {"kernel_input_feature_dimension": 2, "kernel_output_feature_dimension": 3}
    numbers |= {
        "kernel_spatial_dimensions": (0, 1),
        "output_batch_dimension": 0,
        "output_feature_dimension": 3,
    }
    numbers |= {"output_spatial_dimensions": (1, 2)}
    own = Convolution.of({"dimension_numbers": numbers, "padding": ((0, 0), (1, 1))}, (8, 3, 16, 4))
    dimensions = own.dimensions((2, 8, 8, 16))
    assert [(at.lhs, at.rhs) for at in dimensions.contracting] == [(3, 2), (1, 0)]
    assert [at.lhs for at in dimensions.spatial] == [2]
