"""The HLO module in a protocol buffer: whether there is one, and its bytes.

Files hold an `HloModuleProto`, an `HloProto` with one, or a snapshot (`HloSnapshot`,
`HloUnoptimizedSnapshot`), whose first field is one of these. Not here: the module (`hlo/proto/`).
"""

from __future__ import annotations

from shardy_py.base.errors import ShardyError
from shardy_py.base.patterns import on_use
from shardy_py.base.wire import fields_of

_COMPUTATIONS, _INSTRUCTIONS, _OPCODE = 3, 2, 2
"""The numbers of fields: of a module, of a computation, of an instruction."""
_WRAPPERS = 3
"""A module, an `HloProto` around it, a snapshot around that."""
_WORD = on_use(rb"[a-z][a-z0-9\-]{1,60}\Z")


def module_in(data: bytes) -> bytes | None:
    """Returns the bytes of the `HloModuleProto` in a file; None if there is none.

    >>> module_in(b"\\x0a\\x05hello") is None
    True
    """
    for _ in range(_WRAPPERS):
        inner: bytes | None = None
        try:
            for number, _, value in fields_of(data):
                if number == _COMPUTATIONS and isinstance(value, bytes) and _is_computation(value):
                    return data
                if number == 1 and isinstance(value, bytes) and inner is None:
                    inner = value
        except ShardyError:
            return None
        if not inner:
            return None
        data = inner
    return None


def _is_computation(data: bytes) -> bool:
    """True if the first instruction of a message has a word for its opcode."""
    opcode = _first(_first(data, _INSTRUCTIONS), _OPCODE)
    return _WORD.match(opcode) is not None


def _first(data: bytes, number: int) -> bytes:
    """The first value of a field; empty if there is none."""
    try:
        return next(v for n, _, v in fields_of(data) if n == number and isinstance(v, bytes))
    except (StopIteration, ShardyError):
        return b""
