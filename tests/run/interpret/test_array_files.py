"""Arrays of files: what fits is read, anything else is an error that names file and array."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shardy_py import Program
from shardy_py.base.errors import ShardyError
from shardy_py.cli.interpret import main
from shardy_py.run.interpret.array_files import array_file

ADD = """func.func @main(%a: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = stablehlo.add %a, %a : tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}
"""
FITTING = np.arange(6, dtype=np.float32).reshape(2, 3)


def npy(array: Any = FITTING, header: str = "") -> bytes:
    """The bytes of an array, or of another header before its elements."""
    data = io.BytesIO()
    np.save(data, array)
    if not header:
        return data.getvalue()
    text = header.encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + FITTING.tobytes()


def archive(content: bytes, name: str = "arg0.npy", method: int = zipfile.ZIP_DEFLATED) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", method) as file:
        file.writestr(name, content)
    return data.getvalue()


def header(type_: str = "'<f4'", order: str = "False", shape: str = "(2, 3)") -> bytes:
    return archive(npy(header=f"{{'descr': {type_}, 'fortran_order': {order}, 'shape': {shape}, }}"))


def patched(data: bytes, at: int, new: bytes) -> bytes:
    """An archive with other bytes in the header of its only member, in the directory too."""
    directory = data.index(b"PK\x01\x02")
    for offset in (at, directory + at + 2):
        data = data[:offset] + new + data[offset + len(new) :]
    return data


@pytest.mark.parametrize(
    "array",
    [FITTING, np.asfortranarray(FITTING), FITTING.astype(">f4"), FITTING[::-1, ::-1]],
    ids=["plain", "Fortran", "big-endian", "reversed"],
)
@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_arrays_are_read(tmp_path: Path, array: Any, method: int) -> None:
    (tmp_path / "x.npz").write_bytes(archive(npy(array), method=method))
    with array_file(tmp_path / "x.npz") as arrays:
        stored = arrays["arg0"]
        assert (stored.shape, stored.dtype) == ((2, 3), np.float32)
        np.testing.assert_array_equal(stored.read(), array)
    with np.load(tmp_path / "x.npz") as given:
        np.testing.assert_array_equal(Program.parse(ADD).run(given)[0], 2 * array)


@pytest.mark.parametrize("array", [FITTING, np.asfortranarray(FITTING)], ids=["plain", "Fortran"])
def test_an_array_alone_is_the_first_argument(
    array: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("x.npy").write_bytes(npy(array))
    Path("add.mlir").write_text(ADD)
    assert main(["add.mlir", "--inputs", "x.npy", "-o", "y.npz"]) == 0
    with np.load("y.npz") as saved:
        (result,) = saved.values()
    np.testing.assert_array_equal(result, 2 * FITTING)


BAD = {
    "truncated archive": (archive(npy())[:-30], "File is not a zip file"),
    "no archive": (b"hello, world", "expected a .npz file of arrays"),
    "array alone, short": (
        npy()[:-1],
        "cannot read the array of 'x.npz': 23 bytes of elements instead of 24",
    ),
    "array alone, other shape": (npy(FITTING.T), "got an array 3x2"),
    "array alone, objects": (
        npy(np.array([None])),
        "cannot read the array of 'x.npz': it has Python objects",
    ),
    "array alone, truncated": (npy()[:20], "cannot read the array of 'x.npz': it ends early"),
    "wrong sum": (archive(npy(), method=0).replace(FITTING.tobytes(), bytes(24)), "Bad CRC-32"),
    "encrypted": (patched(archive(npy()), 6, b"\x01"), "it is encrypted"),
    "method": (patched(archive(npy()), 8, b"\x63"), "compression method 99"),
    "lzma": (archive(npy(), method=zipfile.ZIP_LZMA), "compression method 14"),
    "no suffix": (archive(npy(), "arg0"), "its name does not end with .npy"),
    "not npy": (archive(b"hello, world"), "not in numpy's format"),
    "short": (archive(npy()[:-1]), "23 bytes of elements instead of 24"),
    "long": (archive(npy() + b"x"), "25 bytes of elements instead of 24"),
    "empty": (archive(b""), "it ends early"),
    "objects": (archive(npy(np.array([None]))), "Python objects, which are not unpickled"),
    "records": (archive(npy(np.zeros(2, [("x", "f4")]))), "its elements are records"),
    "text": (archive(npy(np.array(["a"]))), "its elements are of type <U1"),
    "deep": (header(shape="(" * 5000), "its header is invalid"),
    "unary": (header(shape="-" * 5000), "its header is invalid"),
    "large header": (archive(npy(header=" " * 20_000)), "its header has 20,001 bytes"),
    "negative": (header(shape="(-2, 3)"), "its header is invalid"),
    "digits": (header(shape=f"({'9' * 5000},)"), "its shape is invalid"),
    "large": (header(shape="(1000000000000,)"), "got an array 1000000000000xfloat32 in 'x.npz'"),
    "dimensions": (header(shape=f"({'1,' * 100})"), "its shape is invalid"),
    "order": (header(order="(3)"), "its header is invalid"),
    "type": (header("'<f8'"), "got an array 2x3xfloat64 in 'x.npz'"),
    "shape": (header(shape="(3, 2)"), "argument %a: expected tensor<2x3xf32> (float32), got an array 3x2"),
    "other name": (archive(npy(), "b.npy"), "unknown argument 'b'"),
}


@pytest.mark.parametrize("case", BAD)
def test_other_files_are_errors(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    data, message = BAD[case]
    Path("x.npz").write_bytes(data)
    Path("add.mlir").write_text(ADD)
    assert main(["add.mlir", "--inputs", "x.npz"]) == 1
    assert message in capsys.readouterr().err


def test_two_arrays_of_a_name(tmp_path: Path) -> None:
    data = archive(npy())
    info = data[data.index(b"PK\x01\x02") : data.index(b"PK\x05\x06")]
    end = data[len(data) - 22 :]
    size = (len(info) * 2).to_bytes(4, "little")
    (tmp_path / "x.npz").write_bytes(data[:-22] + info + end[:8] + b"\2\0\2\0" + size + end[16:])
    with pytest.raises(ShardyError, match="has two arrays 'arg0'"), array_file(tmp_path / "x.npz"):
        pass


def test_no_element_is_read_before_all_inputs_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.npz"
    np.savez_compressed(path, arg0=FITTING, arg1=np.zeros(50_000_000, np.float32))
    two = ADD.replace("%a: tensor<2x3xf32>", "%a: tensor<2x3xf32>, %b: tensor<2xf32>")
    monkeypatch.setattr(np, "frombuffer", None)
    with array_file(path) as arrays, pytest.raises(ShardyError, match="got an array 50000000xfloat32"):
        Program.parse(two).run(arrays)


def test_large_inputs_are_limited(tmp_path: Path) -> None:
    program = Program.parse(ADD.replace("2x3x", "1000000000000x"))
    (tmp_path / "x.npz").write_bytes(header(shape="(1000000000000,)"))
    with (
        array_file(tmp_path / "x.npz") as arrays,
        pytest.raises(ShardyError, match="argument %a has 1000"),
    ):
        program.run(arrays)
