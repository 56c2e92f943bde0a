"""Amounts of bytes as users write them, in Python and on command lines: one reader for all.

A bare number is bytes. Units that end in `iB`, and single letters, are powers of 1024; units that end in `B`
are powers of 1000, as reports print them. A percentage is a part of something, which the caller names.

    16_000_000_000, "16000000000", "16GB", "16 GB", "16e9"    16,000,000,000 bytes
    "16GiB", "16G"                                            17,179,869,184 bytes
    "60%"                                                     60 % of the memory of a device, for example

Not here: how bytes are printed (`report/tables.py`), the bytes of tensors (`hardware/tensor_bytes.py`).

>>> byte_size("1.5 kB"), byte_size("64M"), byte_size("60%", whole=1000, whole_name="the memory of a device")
(1500, 67108864, 600)
"""

from __future__ import annotations

from operator import index

from shardy_py.base.errors import ShardyError
from shardy_py.base.patterns import on_use

_PREFIXES = "KMGTP"
_FACTORS = (
    {"": 1, "B": 1}
    | {prefix: 1 << 10 * (n + 1) for n, prefix in enumerate(_PREFIXES)}
    | {f"{prefix}IB": 1 << 10 * (n + 1) for n, prefix in enumerate(_PREFIXES)}
    | {f"{prefix}B": 1000 ** (n + 1) for n, prefix in enumerate(_PREFIXES)}
)
"""Bytes of a unit, whose name is in upper case."""
_AMOUNT = on_use(r"([0-9][0-9_]{0,30}(?:\.[0-9]{1,30})?(?:[eE]\+?[0-9]{1,2})?) ?([A-Za-z]{0,3}|%)")
_MOST = (1 << 63) - 1


def byte_size(given: object, *, whole: int | None = None, whole_name: str = "", least: int = 0) -> int:
    """Returns a number of bytes from an integer, or from text with a unit.

    whole: what percentages are of, named by `whole_name`; None: percentages are not taken. least: the
    smallest number of bytes that is valid.

    Raises:
        ShardyError: it is neither, or out of range. A fraction is not taken for a percentage.
    """
    found, remedy = None, ""
    if isinstance(given, str):
        found = _of_text(given.strip(), whole)
    elif isinstance(given, float):
        found = int(given) if given.is_integer() and given > 1 else None
        if whole is not None and 0 < given <= 1:
            remedy = f"write '{given * 100:.6g}%' for a part of {whole_name}"
    elif not isinstance(given, bool):
        try:
            found = index(given)  # pyright: ignore[reportArgumentType]
        except TypeError:
            found = None
    if found is None or not least <= found <= _MOST:
        examples = "bytes such as 64M, 64MB or 65536" if whole is None else _WITH_PARTS
        got = f"'{given}'" if isinstance(given, str) else repr(given)
        raise ShardyError.unexpected("", expected=examples, got=got[:100], remedy=remedy)
    return found


_WITH_PARTS = "bytes such as 16GB, 16GiB or 16000000000, or a percentage such as 90%"


def _of_text(text: str, whole: int | None) -> int | None:
    """None: not an amount, or a percentage outside of (0, 100]."""
    match = _AMOUNT.fullmatch(text)
    if match is None:
        return None
    from decimal import Decimal  # for the few commands that are given an amount

    amount, unit = Decimal(match[1].replace("_", "")), match[2].upper()
    if unit == "%":
        return None if whole is None or not 0 < amount <= 100 else int(whole * amount / 100)
    return int(amount * _FACTORS[unit]) if unit in _FACTORS else None
