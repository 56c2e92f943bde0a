"""What a path holds is found out by content: each format, folders, and what is not read."""

from __future__ import annotations

import gzip
import logging
from io import BytesIO
from pathlib import Path
from zipfile import ZipFile

import pytest

from shardy_py import Program, ShardyError, propagate
from shardy_py.base.inputs.files import source_of
from shardy_py.base.inputs.folders import chosen_file
from shardy_py.base.inputs.formats import FORMATS, OTHERS, format_of
from shardy_py.base.wire import bytes_field
from shardy_py.cli.opt import main
from shardy_py.frontends.torch.archives import torch_module
from shardy_py.mlir.text.other_languages import other_language

ROOT = Path(__file__).parents[3]
HLO = "HloModule twice\nENTRY main {\n  p = f32[4] parameter(0)\n  ROOT s = f32[4] add(p, p)\n}\n"
MLIR = "func.func @main(%p: tensor<4xf32>) -> tensor<4xf32> {\n  return %p : tensor<4xf32>\n}\n"
PROTO = (ROOT / "tests" / "hlo" / "proto" / "data" / "kinds.hlo.pb").read_bytes()
BYTECODE = next((ROOT / "tests" / "mlir" / "bytecode" / "data").glob("*.mlirbc")).read_bytes()


def archive(**files: bytes) -> bytes:
    made = BytesIO()
    with ZipFile(made, "w") as opened:
        for name, data in files.items():
            opened.writestr(name.replace("__", "/"), data)
    return made.getvalue()


CONTENTS = {
    "mlir": MLIR.encode(),
    "bytecode": BYTECODE,
    "hlo": HLO.encode(),
    "hlo-proto": PROTO,
    "torch-export": archive(**{"m__models__model.json": b"{}"}),
    "result": b'{"format": "shardy_py result", "version": 1, "source": "module {}"}',
}


@pytest.mark.parametrize(("name", "data"), CONTENTS.items())
def test_each_format_is_recognised(name: str, data: bytes) -> None:
    assert format_of(data) == name
    for content in (data, gzip.compress(data)):
        found, asked = source_of(content, "x"), source_of(content, "x", name)
        assert found == asked
    others = set(FORMATS) - {name, "mlir"}
    for other in others - ({"hlo"} if name == "mlir" else set()):
        with pytest.raises(ShardyError, match=r"x: expected .*, got .*--input-format="):
            source_of(data, "x", other)


def test_wrappers_of_a_module_are_opened() -> None:
    for data in (
        PROTO,
        bytes_field(1, PROTO),
        bytes_field(1, bytes_field(1, PROTO)) + bytes_field(4, b"Host"),
    ):
        assert Program.parse(data).module.sym_name.data == "kinds"


def test_computations_without_the_header_of_a_module() -> None:
    computation = HLO.partition("\n")[2]
    assert format_of(computation.encode()) == "hlo"
    assert "stablehlo.add" in str(Program.parse(computation))
    text = source_of(computation.replace("ENTRY ", "").encode(), "x", "hlo").text
    assert "stablehlo.add" in str(Program.parse(text))


@pytest.mark.parametrize("other", OTHERS, ids=lambda other: other.what)
def test_what_is_not_read_is_named(other: object) -> None:
    start, what, remedy = (getattr(other, name) for name in ("start", "what", "remedy"))
    data = start + b"\xff\xfe"
    if what == "gzip within gzip":
        data = gzip.compress(gzip.compress(b"module {}"))
    with pytest.raises(ShardyError) as caught:
        source_of(data, "x")
    message = caught.value.first.message
    assert f"got {what}" in message
    assert message.endswith(remedy)


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["notes"], "got a zip archive with notes; unpack it and pass a file of it"),
        (["m/code/__torch__/f.py", "m/data.pkl"], "got a model of TorchScript; export the model instead"),
        (
            ["m/data.pkl", "m/data/0"],
            "got weights or objects that torch.save wrote; export the model instead",
        ),
        (["m/data/aotinductor/m/w.so"], "got a model that AOTInductor compiled; export the model instead"),
        (["x.npy"], "got arrays of numpy; pass the program"),
    ],
)
def test_zip_archives_are_named_by_their_files(names: list[str], words: str) -> None:
    data = archive(**dict.fromkeys(names, b"0" * 99))
    with pytest.raises(ShardyError, match=words):
        source_of(data, "x")
    with pytest.raises(ShardyError, match="got a damaged zip archive; copy or write it again"):
        source_of(data[:60], "x")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("; ModuleID = 'm'\n", "got LLVM IR; pass the HLO that it was compiled from"),
        (
            'platform_id: 7\nplatform_name: "cpu"\n',
            "got a protocol buffer as text; pass one with an HLO module",
        ),
        (
            "executable_build_options {\n  device_ordinal: -1\n}\n",
            "got a protocol buffer as text; pass one with",
        ),
        (
            "xla_cpu_enable_fast_min_max: false\n",
            "got a protocol buffer as text; pass one with an HLO module",
        ),
        (
            "\nTotal bytes used: 4892 (4.8KiB)\n",
            "got a report of memory or live ranges; pass the HLO beside it",
        ),
        ("<!DOCTYPE html>\n<html>\n", "got a picture of a graph; pass the HLO beside it"),
        (
            "BufferAssignment:\nallocation 0: size 4\n",
            "got the assignment of buffers; pass the HLO beside it",
        ),
    ],
)
def test_other_files_of_dumps_are_named(text: str, words: str) -> None:
    with pytest.raises(ShardyError, match=words):
        Program.parse(text)


def dumped(folder: Path, names: dict[str, str]) -> Path:
    for name, text in names.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    return folder


@pytest.mark.parametrize(
    ("files", "chosen", "remark"),
    [
        (
            {
                "module_0001.small.before_optimizations.txt": "HloModule s",
                "module_0002.jit_f.before_optimizations.txt": HLO,
                "module_0002.jit_f.cpu_after_optimizations.txt": HLO * 2,
                "module_0002.jit_f.cpu_after_optimizations-buffer-assignment.txt": "BufferAssignment:" * 99,
                "module_0002.jit_f.ir-no-opt.ll": "; ModuleID" * 99,
            },
            "module_0002.jit_f.before_optimizations.txt",
            "read module_0002.jit_f.before_optimizations.txt, the largest of 2 modules; pass a file of "
            "another: module_0001.small",
        ),
        (
            {"module_0002.jit_f.before_optimizations.txt": HLO, "module_0002.jit_f/module.mlir": MLIR},
            "module_0002.jit_f/module.mlir",
            "read module.mlir of module_0002.jit_f",
        ),
        (
            {
                "module_0003.f.0002.pipeline.after_x.before_y.txt": HLO,
                "module_0003.f.0001.pipeline.after_w.before_x.txt": HLO,
                "module_0003.f.gpu_after_optimizations.txt": HLO,
            },
            "module_0003.f.0001.pipeline.after_w.before_x.txt",
            "read module_0003.f.0001.pipeline.after_w.before_x.txt",
        ),
        (
            {"01.after_propagation.mlir": MLIR, "00.before_propagation.mlir": MLIR},
            "00.before_propagation.mlir",
            "read 00.before_propagation.mlir, the first of 2 stages up to 01.after_propagation.mlir",
        ),
        (
            {
                "module_0002.jit_f/00.input_module.mlir": MLIR,
                "module_0004.jit_g/00.input_module.mlir": MLIR * 2,
                "module_0004.jit_g/01.before_propagation.mlir": MLIR,
            },
            "module_0004.jit_g/00.input_module.mlir",
            "read 00.input_module.mlir of module_0004.jit_g, the largest of 2 modules",
        ),
        (
            {"module.mlir": MLIR, "compile_options.pb": "x", "topology.pb": "x"},
            "module.mlir",
            "read module.mlir",
        ),
        (
            {
                "1795791896035737.module_0000.jit_f.cpu_after_optimizations.hlo.pb.gz": HLO,
                "1795791896035737.module_0000.jit_f.before_optimizations.hlo.pb.gz": HLO,
            },
            "1795791896035737.module_0000.jit_f.before_optimizations.hlo.pb.gz",
            "read 1795791896035737.module_0000.jit_f.before_optimizations.hlo.pb.gz",
        ),
        (
            {
                "module_0002.jit_f.execution_0001.hlo_unoptimized_snapshot.pb": HLO,
                "module_0002.jit_f.execution_0000.hlo_unoptimized_snapshot.pb": HLO,
                "module_0003.jit_g.execution_0000.hlo_snapshot.pb": "HloModule s",
            },
            "module_0002.jit_f.execution_0000.hlo_unoptimized_snapshot.pb",
            "read module_0002.jit_f.execution_0000.hlo_unoptimized_snapshot.pb, the largest of 2 modules; "
            "pass a file of another: module_0003.jit_g",
        ),
        ({"model.hlo": HLO, "notes.md": ""}, "model.hlo", "read model.hlo, the only program"),
    ],
)
def test_folders(tmp_path: Path, files: dict[str, str], chosen: str, remark: str) -> None:
    assert chosen_file(str(dumped(tmp_path, files))) == (str(tmp_path / chosen), remark)


def test_the_commands_and_the_api_take_folders(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    dumped(tmp_path, {"module_0002.jit_f.before_optimizations.txt": HLO})
    file = tmp_path / "module_0002.jit_f.before_optimizations.txt"
    assert main([str(tmp_path)]) == 0
    out, err = capsys.readouterr()
    assert "stablehlo.add" in out
    assert err == f"{file}: remark: read {file.name}\n"
    with caplog.at_level(logging.INFO):
        Program.load(tmp_path)
    assert f"{file}: remark: read {file.name}" in caplog.messages
    file.write_text(HLO.replace("add(p, p)", "add(p)"))
    assert main([str(tmp_path)]) == 1
    caret = "  ROOT s = f32[4] add(p)\n       ^\n"
    assert capsys.readouterr().err.endswith(f"{file}:4:8: error: 'add': expected 2 operands, got 1\n{caret}")


def test_folders_without_an_answer(tmp_path: Path) -> None:
    expected = r"expected a file, or a folder that XLA or Shardy dumped, got a folder"
    with pytest.raises(ShardyError, match=f"{expected} without programs; pass a file"):
        Program.load(tmp_path)
    dumped(tmp_path, {"a.mlir": MLIR, "b.mlir": MLIR})
    with pytest.raises(
        ShardyError, match=f"{expected} with 2 programs; pass one of its files: a.mlir, b.mlir"
    ):
        Program.load(tmp_path)


def test_saved_results_are_programs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = Program.parse(MLIR)
    propagate(program).save(tmp_path / "x.sdy")
    assert Program.load(tmp_path / "x.sdy").text() == program.text()
    assert main([str(tmp_path / "x.sdy")]) == 0
    assert "remark: a saved result: the program that it is of is read" in capsys.readouterr().err
    with pytest.raises(ShardyError, match="expected a saved result, got damaged JSON"):
        source_of(b'{"format": "shardy_py result", "source": [', "x")


def test_archives_that_unpack_to_too_much_are_not_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shardy_py.frontends.torch.archives._SMALL", 1 << 20)
    made = BytesIO()
    with ZipFile(made, "w", 8) as opened:
        opened.writestr("m/models/model.json", b"0" * (1 << 22))
    with pytest.raises(ShardyError, match="files in the archive: expected at most 100 times the size"):
        torch_module(made.getvalue(), "x")


@pytest.mark.torch
def test_programs_of_torch(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch (extra: torch) is not installed")
    exported = torch.export.export(torch.nn.Linear(4, 8), (torch.zeros(2, 4),))
    torch.export.save(exported, tmp_path / "m.pt2")
    assert str(Program.load(tmp_path / "m.pt2")) == str(Program.from_torch(exported))
    with pytest.raises(ShardyError, match="x: error: expected what torch"):
        torch_module(CONTENTS["torch-export"], "x")


@pytest.mark.parametrize(
    "text",
    [
        *(part * 100_000 for part in ("\n", " ", "#\n", "/* */", "/*", "%a (", "ENTRY a", "@a", "[ ")),
        *("%a (" + part * 100_000 for part in (")->{", "{ ", ") -> ")),
        "ENTRY " + " " * 100_000,
        ("  " * 50 + "#\n") * 1_000,
    ],
    ids=range(14),
)
def test_hostile_text_is_told_apart_in_linear_time(text: str) -> None:
    """Minutes, when patterns tried each space as the end of one part and the beginning of the next."""
    assert format_of(text.encode()) in ("mlir", "hlo")
    other_language(text, "x.mlir")
