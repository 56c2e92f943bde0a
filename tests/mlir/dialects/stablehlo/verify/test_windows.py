"""Windows: the places they have, against counting them one by one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardy_py.mlir.dialects.faults import Fault
from shardy_py.mlir.dialects.stablehlo.verify.windows import WindowDimension, output_sizes, read_windows

sizes = st.integers(1, 4)


def _places(size: int, window: WindowDimension) -> int:
    """Counts the places of a window in the padded and dilated base."""
    assert window.size is not None
    last = (
        window.low + (size - 1) * window.base_dilation + window.high if size else window.low + window.high - 1
    )
    span = (window.size - 1) * window.window_dilation
    return sum(1 for start in range(0, max(last + 1, 0), window.stride) if start + span <= last)


@given(
    st.integers(0, 9),
    sizes,
    sizes,
    st.integers(-2, 3),
    st.integers(-2, 3),
    st.integers(1, 3),
    st.integers(1, 3),
)
def test_output_sizes_count_the_places(
    size: int, window: int, stride: int, low: int, high: int, base_dilation: int, window_dilation: int
) -> None:
    found = WindowDimension(window, low, high, stride, base_dilation, window_dilation)
    assert output_sizes((size,), (found,)) == (_places(size, found),)


def test_dynamic_sizes_give_dynamic_sizes() -> None:
    assert output_sizes((None, 8), read_windows((2, None))) == (None, None)


def test_one_entry_a_dimension() -> None:
    with pytest.raises(
        Fault, match=r"expects window-strides to have same dimension-size .* \(2\), but got: 1"
    ):
        read_windows((2, 2), strides=(1,))
    with pytest.raises(Fault, match="positive stride for 1-th window dimension, but got 0"):
        read_windows((2, 2), strides=(1, 0))
