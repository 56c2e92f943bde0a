"""Warnings about annotations that are not kept."""

from __future__ import annotations

import pytest

from shardy_py import Program, propagate
from shardy_py.api.values import Value, Values


def test_values_are_listed_once_for_all_warnings(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    listed = Values._of

    def counted(values: Values, function: str | None, role: str) -> list[Value]:
        asked.append(f"{role} of {function}")
        return listed(values, function, role)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(Values, "_of", counted)
    annotated = 'tensor<7xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}'
    arguments = ", ".join(f"%arg{i}: {annotated}" for i in range(5))
    result = propagate(
        Program.parse(
            f'sdy.mesh @mesh = <["x"=2]>\nfunc.func @main({arguments}) -> ({annotated}) '
            "{\n  return %arg0 : tensor<7xf32>\n}"
        ),
        progress=False,
    )
    messages = [warning.message for warning in result.warnings]
    assert [message.partition(":")[0] for message in messages] == [
        *(f"%arg{i}" for i in range(5)),
        "result 0",
    ]
    assert asked == ["argument of main", "result of main"]
