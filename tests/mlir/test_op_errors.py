"""Errors at an op: its name, its location, the part of it that is meant."""

from __future__ import annotations

import pytest

from shardy_py.base.errors import Diagnostic, Position, ShardyError
from shardy_py.mlir.dialects import parse_module
from shardy_py.mlir.op_errors import errors_at

MODULE = """
func.func @main() {
  return
}
"""


@pytest.mark.parametrize(
    ("error", "prefix", "text"),
    [
        (ShardyError("has no mesh"), "", "-:2:1: error: 'func.func' op has no mesh"),
        (
            ShardyError.unexpected("mesh", expected="x", got="y"),
            "arg 0 - ",
            "op arg 0 - mesh: expected x, got y",
        ),
        (ShardyError.unexpected("", expected="x", got="y"), "", "'func.func' op expected x, got y"),
        (ShardyError(Diagnostic("no", Position("f", 7, 8))), "", "f:7:8: error: no"),
    ],
)
def test_errors_at_an_op(error: ShardyError, prefix: str, text: str) -> None:
    function = parse_module(MODULE).body.block.first_op
    assert function is not None
    with pytest.raises(ShardyError) as found, errors_at(function, prefix):
        raise error
    assert str(found.value).endswith(text)
