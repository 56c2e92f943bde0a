"""Arrays in files of numpy, `.npz`, or `.npy` for a program of one argument: the only reader of such files.

    with array_file("inputs.npz") as arrays:
        arrays["x"].shape, arrays["x"].dtype        of its header
        arrays["x"].read()                          the elements

A file may come from anybody. Shape and element type are known before any element is read, to be compared;
then exactly the bytes of that shape are read. Python objects are never unpickled. Not here: which arrays fit
(`api/execution.py`), what is written (`cli/interpret.py`).
"""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from math import prod
from os import SEEK_END, PathLike, fspath
from typing import IO
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

import numpy as np

from shardy_py.base.arrays import AnyDtype
from shardy_py.base.errors import ShardyError
from shardy_py.base.records import dataclass
from shardy_py.ops.compute import Array

FIRST = "0"
"""The name of the first argument by its position."""
_MAGIC = b"\x93NUMPY"
_LONGEST_HEADER = 10_000
"""Bytes of the header of an array, as numpy's own limit."""
_MOST_ARRAYS = 100_000
_CHUNK = 1 << 20
_ENCRYPTED = 1
_METHODS = (ZIP_STORED, ZIP_DEFLATED)
_SUFFIX = ".npy"
_ITEM = re.compile(
    r"\s*['\"](descr|fortran_order|shape)['\"]\s*:\s*"
    r"('[^'\\]{0,99}'|\"[^\"\\]{0,99}\"|True|False|\([\d\s,L]*\))\s*(?:,|(?=\}))",
    re.ASCII,
)
_TYPE = re.compile(r"[<>=|]?(?:[biufc]\d{1,2}|\?|V\d{1,2})", re.ASCII)
_SIZE = re.compile(r"(\d{1,19})L?", re.ASCII)
_MOST_DIMENSIONS = 64


@dataclass(frozen=True)
class StoredArray:
    """An array in a file that is open.

    shape, dtype: those of its header; dtype: in the byte order of this machine.
    """

    shape: tuple[int, ...]
    dtype: AnyDtype
    _stored: AnyDtype
    _is_fortran: bool
    _file: _File | _PlainFile
    _info: ZipInfo
    _start: int

    @property
    def file(self) -> str:
        """The name of the file."""
        return self._file.name

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    def read(self) -> Array:
        """Returns the elements. Raises `ShardyError` if the file is damaged."""
        size = prod(self.shape) * self._stored.itemsize
        with self._file.member(self._info) as stream:
            if self._info.file_size != self._start + size:
                raise ValueError(f"{self._info.file_size - self._start} bytes of elements instead of {size}")
            _exactly(stream, self._start)
            data = bytearray(size)
            view, at = memoryview(data), 0
            while at < size:
                part = stream.read(min(_CHUNK, size - at))
                if not part:
                    raise EOFError("it ends early")
                view[at : at + len(part)] = part
                at += len(part)
            if stream.read(1):  # which checks the sum of all bytes, too
                raise ValueError("it goes on after its last element")
        flat = np.frombuffer(data, self._stored).astype(self.dtype, copy=False)
        if self._is_fortran:
            return np.ascontiguousarray(flat.reshape(self.shape[::-1]).transpose())
        return flat.reshape(self.shape)


@contextmanager
def array_file(path: str | PathLike[str]) -> Generator[Mapping[str, StoredArray]]:
    """Opens a file; yields its arrays by name, of which only the headers were read; that of `.npy` is "0".

    Raises:
        ShardyError: it cannot be read, is no `.npz` or `.npy` file, or has an array with an invalid header.
    """
    name = fspath(path)
    if _is_plain(name):
        yield {FIRST: _PlainFile(name).array()}
        return
    try:
        archive = ZipFile(name)
    except OSError as error:
        raise ShardyError.unopened(name, error) from None
    except Exception as error:  # zipfile raises many kinds for files that are damaged
        raise ShardyError.unexpected(
            "", expected="a .npz file of arrays", got=f"'{name}' ({error})"
        ) from None
    with archive:
        yield arrays_in(archive, name)


def arrays_in(archive: ZipFile, name: str) -> Mapping[str, StoredArray]:
    """Returns the arrays of an open archive, as `array_file`."""
    infos, file = archive.infolist(), _File(archive, name)
    if len(infos) > _MOST_ARRAYS:
        raise ShardyError.unexpected(
            f"'{name}'", expected=f"at most {_MOST_ARRAYS:,} arrays", got=f"{len(infos):,}"
        )
    found: dict[str, StoredArray] = {}
    for info in infos:
        key = info.filename.removesuffix(_SUFFIX)
        if key in found:
            raise ShardyError(f"'{name}' has two arrays '{key}'")
        found[key] = file.array(info)
    return found


def _is_plain(name: str) -> bool:
    try:
        with open(name, "rb") as file:
            return file.read(len(_MAGIC)) == _MAGIC
    except (OSError, ValueError):  # which reading it as an archive reports
        return False


@dataclass(frozen=True)
class _PlainFile:
    """A file of one array."""

    name: str

    def array(self) -> StoredArray:
        """Reads the header."""
        info = ZipInfo(FIRST + _SUFFIX)
        with self.member(info) as stream:
            text, start = _header(stream)
            stored, is_fortran, shape = _fields(text)
            info.file_size = stream.seek(0, SEEK_END)
        return StoredArray(shape, stored.newbyteorder("="), stored, is_fortran, self, info, start)

    @contextmanager
    def member(self, _: ZipInfo) -> Generator[IO[bytes]]:
        """Opens the file; faults within name it."""
        try:
            with open(self.name, "rb") as stream:
                yield stream
        except ShardyError:
            raise
        except Exception as error:
            raise ShardyError(f"cannot read the array of '{self.name}': {error or 'it is damaged'}") from None


@dataclass(frozen=True)
class _File:
    archive: ZipFile
    name: str

    def array(self, info: ZipInfo) -> StoredArray:
        """Reads the header of an array."""
        with self.member(info) as stream:
            if not info.filename.endswith(_SUFFIX):
                raise ValueError("its name does not end with .npy")
            text, start = _header(stream)
            stored, is_fortran, shape = _fields(text)
        return StoredArray(shape, stored.newbyteorder("="), stored, is_fortran, self, info, start)

    @contextmanager
    def member(self, info: ZipInfo) -> Generator[IO[bytes]]:
        """Opens a member; faults within name it."""
        try:
            if info.flag_bits & _ENCRYPTED:
                raise ValueError("it is encrypted")
            if info.compress_type not in _METHODS:
                raise ValueError(f"compression method {info.compress_type} is none that numpy writes")
            with self.archive.open(info) as stream:
                yield stream
        except ShardyError:
            raise
        except BadZipFile as error:
            raise self._fault(info, f"the archive is damaged: {error}") from None
        except Exception as error:  # zipfile and zlib raise many kinds
            raise self._fault(info, str(error)) from None

    def _fault(self, info: ZipInfo, reason: str) -> ShardyError:
        key = info.filename.removesuffix(_SUFFIX)
        return ShardyError(f"cannot read array '{key}' of '{self.name}': {reason or 'it is damaged'}")


def _exactly(stream: IO[bytes], size: int) -> bytes:
    """Returns that many bytes, or raises EOFError."""
    data = b""
    while len(data) < size:
        part = stream.read(size - len(data))
        if not part:
            raise EOFError("it ends early")
        data += part
    return data


def _header(stream: IO[bytes]) -> tuple[str, int]:
    """Returns the text of a header, and where the elements start."""
    magic = _exactly(stream, len(_MAGIC) + 2)
    version = magic[len(_MAGIC)]
    if not magic.startswith(_MAGIC) or version not in (1, 2, 3):
        raise ValueError("it is not in numpy's format")
    width = 2 if version == 1 else 4
    length = int.from_bytes(_exactly(stream, width), "little")
    if length > _LONGEST_HEADER:
        raise ValueError(f"its header has {length:,} bytes, more than {_LONGEST_HEADER:,}")
    return _exactly(stream, length).decode("utf-8"), len(magic) + width + length


def _fields(text: str) -> tuple[AnyDtype, bool, tuple[int, ...]]:
    """Returns element type, order and shape of a header, which is a dictionary in Python."""
    body, at, found = text.strip(), 1, dict[str, str]()
    while body.startswith("{") and body.endswith("}") and (item := _ITEM.match(body, at)) is not None:
        found[item[1]] = item[2]
        at = item.end()
    if body[at:].strip() != "}" or len(found) != 3:
        is_record = re.match(r"\{\s*'descr'\s*:\s*\[", body)
        raise ValueError(
            "its elements are records, expected numbers" if is_record else "its header is invalid"
        )
    type_text = found["descr"].strip("'\"")
    if type_text.lstrip("<>=|") == "O":
        raise ValueError("it has Python objects, which are not unpickled")
    if not _TYPE.fullmatch(type_text):
        raise ValueError(f"its elements are of type {type_text[:40]}, expected numbers")
    if found["fortran_order"] not in ("True", "False") or found["shape"][0] != "(":
        raise ValueError("its header is invalid")
    sizes = [size.strip() for size in found["shape"][1:-1].split(",") if size.strip()]
    numbers = [_SIZE.fullmatch(size) for size in sizes]
    if len(sizes) > _MOST_DIMENSIONS or None in numbers:
        raise ValueError("its shape is invalid")
    shape = tuple(int(number[1]) for number in numbers if number is not None)
    return np.dtype(type_text), found["fortran_order"] == "True", shape
