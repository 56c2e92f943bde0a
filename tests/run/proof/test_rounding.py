"""Which differences of floats count."""

from __future__ import annotations

import numpy as np

from shardy_py.run.proof.rounding import differs

NAN = float("nan")


def test_numbers_differ_beyond_the_bound_only() -> None:
    got, expected = np.array([1.0, 1.1, NAN, NAN]), np.array([1.0, 1.0, NAN, 1.0])
    assert differs(got, expected, 0.01, 1.0).tolist() == [False, True, False, True]
    assert differs(got, expected, 0.2, 1.0).tolist() == [False, False, False, True]


def test_a_bound_above_all_elements_leaves_nan_open() -> None:
    got, expected = np.array([NAN, 5.0]), np.array([1.0, 1.0])
    assert differs(got, expected, 2.0, 1.0).tolist() == [False, True]
