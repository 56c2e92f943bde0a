from __future__ import annotations

import pickle
import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from shardy_py.base.errors import ShardyError
from shardy_py.indexing.layout.element_types import ELEMENT_TABLE, element_type, element_type_of


@pytest.mark.parametrize("row", ELEMENT_TABLE.values(), ids=ELEMENT_TABLE)
def test_sizes_are_those_of_numpy(row: Any) -> None:
    width = int(re.findall(r"\d+", row.name)[0]) if row.name != "pred" else 8
    assert row.bits == (8 if width == 6 else width)
    if not hasattr(np, row.numpy_name) and not hasattr(ml_dtypes, row.numpy_name):
        pytest.skip(f"ml_dtypes {ml_dtypes.__version__} has no {row.numpy_name}")
    assert row.dtype.itemsize == max(1, row.bits // 8)
    assert element_type_of(row.dtype) is row
    assert element_type_of(pickle.loads(pickle.dumps(row.dtype))) is row


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        ("i1", "pred"),
        ("i8", "s8"),
        ("ui8", "u8"),
        ("si32", "s32"),
        ("i4", "s4"),
        ("ui2", "u2"),
        ("f8E4M3FN", "f8e4m3fn"),
        ("f4E2M1FN", "f4e2m1fn"),
        ("complex<f32>", "c64"),
        ("complex<f64>", "c128"),
        ("index", "s64"),
        ("bf16", "bf16"),
        ("F32", "f32"),
        ("PRED", "pred"),
        ("i3", "s4"),
        ("ui17", "u32"),
        ("i33", "s64"),
        ("!quant.any<i8<-8:7>:f32>", "s8"),
        ("!quant.uniform<i8:f32, 1.0>", "s8"),
        ("!quant.uniform<u8<1:255>:f32:0, {1.0}>", "u8"),
    ],
)
def test_spellings(spelling: str, name: str) -> None:
    assert element_type(spelling).name == name


@pytest.mark.parametrize("spelling", ["", "f33", "complex<i8>", "token", "i65", "i0", "tensor<f32>"])
def test_other_text_is_refused(spelling: str) -> None:
    with pytest.raises(
        ShardyError, match=rf"unknown element type '{spelling}': expected one of 'pred', 's1'"
    ):
        element_type(spelling)


def test_numpy_types() -> None:
    assert element_type_of(np.dtype(np.longlong)) is ELEMENT_TABLE["s64"]
    assert element_type_of(np.dtype(">f4")) is ELEMENT_TABLE["f32"]
    assert element_type_of(np.dtype(np.clongdouble)) is None
    assert element_type_of(np.dtype("U3")) is None
    assert element_type_of(np.dtype("datetime64[s]")) is None
    assert element_type_of(np.dtype("V8")) is None
