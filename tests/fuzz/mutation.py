"""Damages text and bytes: characters, tokens, numbers, nesting, pieces of another input.

A damaged input is a function of its seed alone, so that a fault is found again by the seed.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence

LARGEST = 200_000
"""Bytes of an input at most; growth beyond it is a subject of benchmarks, not of fuzzing."""

NUMBERS = (
    *("0", "-1", "1", "2", "7", "255", "65536", "2147483648", "4294967296", "4611686018427387904"),
    *("9223372036854775807", "9223372036854775808", "18446744073709551616", "9" * 5000),
    *("1.5", "-0.0", "1e400", "0x7FC00000", "0xFFFFFFFFFFFFFFFFFF", "nan"),
)
STRINGS = ('"', '""', '"\\FF\\FE"', '"\x1b[31m"', "\u202e", "\0", "\x7f", "é", "'", "\\", "\r\n", "\t", " ")
BRACKETS = ("()", "[]", "{}", "<>", '""', "/*")

_TOKEN = re.compile(r'"[^"\n]*"|[\w.$#@%!^-]+|\s+|.', re.DOTALL)
_NUMBER = re.compile(r"-?\d+")

Pieces = list[str]
Mutation = Callable[[Pieces, random.Random, Pieces], None]


def damaged(data: bytes, other: bytes, random_: random.Random) -> bytes:
    """Returns a text after up to three mutations; `other` lends pieces."""
    return _damaged(data, other, random_, binary=False)


def damaged_bytes(data: bytes, other: bytes, random_: random.Random) -> bytes:
    """Returns `data` after up to three mutations of bytes; `other` lends pieces."""
    return _damaged(data, other, random_, binary=True)


def _damaged(data: bytes, other: bytes, random_: random.Random, *, binary: bool) -> bytes:
    text, lender = (_decoded(part, binary=binary) for part in (data, other))
    for _ in range(random_.choice((0, 1, 1, 1, 1, 2, 3))):
        whole = binary or random_.random() < 0.3
        pieces = list(text) if whole else _TOKEN.findall(text)
        lent = list(lender) if whole else _TOKEN.findall(lender)
        random_.choice(BYTE_MUTATIONS if binary else TEXT_MUTATIONS)(pieces, random_, lent)
        text = "".join(pieces)[:LARGEST]
    return text.encode("latin-1") if binary else text.encode("utf-8", "surrogateescape")


def _decoded(data: bytes, *, binary: bool) -> str:
    return data.decode("latin-1") if binary else data.decode("utf-8", "surrogateescape")


def _place(pieces: Sequence[str], random_: random.Random) -> int:
    return random_.randrange(len(pieces)) if pieces else 0


def _run_length(random_: random.Random) -> int:
    return random_.choice((1, 1, 1, 2, 5, 20))


def _drop(pieces: Pieces, random_: random.Random, _: Pieces) -> None:
    start = _place(pieces, random_)
    del pieces[start : start + _run_length(random_)]


def _repeat(pieces: Pieces, random_: random.Random, _: Pieces) -> None:
    start = _place(pieces, random_)
    part = pieces[start : start + _run_length(random_)]
    pieces[start:start] = part * random_.choice((1, 1, 2, 100))


def _swap(pieces: Pieces, random_: random.Random, _: Pieces) -> None:
    if pieces:
        one = _place(pieces, random_)
        near = min(one + random_.choice((1, 2, 3)), len(pieces) - 1)
        other = random_.choice((near, _place(pieces, random_)))
        pieces[one], pieces[other] = pieces[other], pieces[one]


def _splice(pieces: Pieces, random_: random.Random, lent: Pieces) -> None:
    start, from_ = _place(pieces, random_), _place(lent, random_)
    length = _run_length(random_)
    pieces[start : start + random_.choice((0, length))] = lent[from_ : from_ + length]


def _token(pieces: Pieces, random_: random.Random, _: Pieces) -> None:
    start = _place(pieces, random_)
    pieces[start : start + random_.choice((0, 1))] = [random_.choice(NUMBERS + STRINGS + BRACKETS)]


def _kind(piece: str) -> str:
    """Returns what a token is: its first character, with all digits and all letters alike."""
    first = piece[:1]
    return "0" if first.isdigit() else "a" if first.isalpha() else first


def _same_kind(pieces: Pieces, random_: random.Random, lent: Pieces) -> None:
    """Replaces a token by another one of its kind, so that the text often stays valid."""
    places = [place for place, piece in enumerate(pieces) if piece[:1].isalnum() or piece[:1] in '%@#"!^']
    if places:
        place = random_.choice(places)
        kind = _kind(pieces[place])
        lender = pieces if random_.random() < 0.8 else lent
        alike = [piece for piece in random_.choices(lender, k=60) if _kind(piece) == kind] if lender else []
        if alike:
            pieces[place] = random_.choice(alike)


def _small_number(pieces: Pieces, random_: random.Random, _: Pieces) -> None:
    """Replaces a number by one near it."""
    places = [place for place, piece in enumerate(pieces) if piece.isdecimal()]
    if places:
        place = random_.choice(places)
        pieces[place] = str(max(-1, int(pieces[place][:18]) + random_.choice((-1, 1, 2, -2))))


def _number(pieces: Pieces, random_: random.Random, _: Pieces) -> None:
    """Replaces one number, anywhere in a piece, by an extreme one."""
    numbered = [place for place, piece in enumerate(pieces) if _NUMBER.search(piece)]
    if numbered:
        place = random_.choice(numbered)
        target = random_.choice(list(_NUMBER.finditer(pieces[place])))
        piece = pieces[place]
        pieces[place] = piece[: target.start()] + random_.choice(NUMBERS) + piece[target.end() :]


def _nest(pieces: Pieces, random_: random.Random, _: Pieces) -> None:
    start, pair = _place(pieces, random_), random_.choice(BRACKETS)
    depth = random_.choice((1, 3, 2000))
    pieces[start:start] = [pair[0]] * depth
    if random_.random() < 0.7:
        end = start + depth + _run_length(random_)
        pieces[end:end] = [pair[1]] * depth


def _truncate(pieces: Pieces, random_: random.Random, _: Pieces) -> None:
    del pieces[_place(pieces, random_) :]


def _flip(pieces: Pieces, random_: random.Random, _: Pieces) -> None:
    if pieces:
        place = _place(pieces, random_)
        pieces[place] = chr(ord(pieces[place][0]) % 256 ^ 1 << random_.randrange(8))


def _extreme_byte(pieces: Pieces, random_: random.Random, _: Pieces) -> None:
    if pieces:
        pieces[_place(pieces, random_)] = random_.choice("\0\x01\x7f\x80\xfe\xff")


def _varint(pieces: Pieces, random_: random.Random, _: Pieces) -> None:
    """Inserts a base 128 number of up to eleven bytes."""
    start = _place(pieces, random_)
    pieces[start:start] = ["\xff"] * random_.randrange(1, 11) + [random_.choice("\0\x01\x0f\x7f")]


TEXT_MUTATIONS: tuple[Mutation, ...] = (
    *(_same_kind, _same_kind, _same_kind, _same_kind, _same_kind, _small_number, _small_number, _drop),
    *(_repeat, _swap, _splice, _splice, _token, _number, _number, _nest, _truncate),
)
BYTE_MUTATIONS: tuple[Mutation, ...] = (
    _drop,
    _repeat,
    _swap,
    _splice,
    _flip,
    _extreme_byte,
    _varint,
    _truncate,
)
