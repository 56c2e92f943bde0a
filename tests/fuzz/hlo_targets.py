"""The readers of HLO, as text and as protocol buffers, and of files of any format.

Not here: other readers (`targets.py`, `file_targets.py`).
"""

from __future__ import annotations

import gzip
import random
import re
from functools import cache
from io import BytesIO
from pathlib import Path
from shutil import rmtree
from zipfile import ZIP_DEFLATED, ZipFile

from shardy_py.api import Program
from shardy_py.base.errors import ShardyError
from shardy_py.base.inputs.formats import FORMATS
from shardy_py.base.wire import BYTES, bytes_field, fields_of, integer_field, varint
from shardy_py.cli.check import main as sdy_check
from shardy_py.cli.compare import main as sdy_compare
from shardy_py.cli.hlo_indexing import main as hlo_indexing
from shardy_py.cli.interpret import main as interpret
from shardy_py.cli.opt import main as sdy_opt
from tests.fuzz.judging import Outcome, Target, command, diagnosed, work_folder
from tests.fuzz.mutation import damaged, damaged_bytes

ROOT = Path(__file__).parents[2]
LARGEST_SEED = 60_000
EXTREMES = (-1, 0, 1, 2, 3, 7, 16, 1 << 16, 1 << 31, (1 << 62) + 1, (1 << 63) - 1, -(1 << 63))


@cache
def hlo_seeds() -> tuple[bytes, ...]:
    """Returns the HLO texts of the tests."""
    texts = (path.read_bytes() for path in sorted(ROOT.glob("*/**/*.hlo")))
    strings = (
        match.group(1).encode()
        for path in sorted((ROOT / "tests").rglob("*.py"))
        for match in re.finditer(r'"""\\?\n?(HloModule .*?)"""', path.read_text(), re.DOTALL)
    )
    return tuple(text for text in (*texts, *strings) if len(text) <= LARGEST_SEED)


def _hlo(data: bytes, random_: random.Random) -> Outcome:
    path = work_folder() / "input.hlo"
    path.write_bytes(data)
    flags = random_.choice(([], ["--fusion"], ["--direction", "input-to-output"], ["--json"]))
    return command(hlo_indexing, [*flags, str(path)], located=True)


FLAGS = (
    ("--mlir-print-debuginfo",),
    ("--xla-sdy-stablehlo-import-pipeline", "--sdy-propagation-pipeline"),
    ("--communication-report", "--sdy-propagation-pipeline", "--no-progress"),
    ("--memory-report", "--sdy-propagation-pipeline", "--no-progress"),
    ("--split-input-file",),
)


def _program(data: bytes, random_: random.Random) -> Outcome:
    path = work_folder() / "input.hlo"
    path.write_bytes(data)
    kind = random_.random()
    if kind < 0.8:
        return command(sdy_opt, [*random_.choice(FLAGS), "--input-format=hlo", str(path)], located=True)
    if kind < 0.9:
        return command(sdy_check, ["--no-progress", "--input-format=hlo", str(path)], located=True)
    limits = ["--max-elements", "4096", "--max-steps", "2000", "--random", "1"]
    return command(interpret, [*limits, "--input-format=hlo", str(path)], located=False)


PROGRAM = """
sdy.mesh @mesh = <["x"=4]>
func.func @main(%arg0: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>},
    %arg1: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<8x8xf32> {
  %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0]
      : (tensor<8x16xf32>, tensor<16x8xf32>) -> tensor<8x8xf32> loc("jit(f)/dot"("model.py":7:3))
  return %0 : tensor<8x8xf32>
}
"""


@cache
def compiled_seeds() -> tuple[bytes, ...]:
    """Returns HLO texts with collectives, and buffer assignments."""
    assignment = b"allocation 0: size 64, parameter 0:\n value: <2 p @0> (size=64,offset=0): f32[16]{0}\n"
    kinds = (b"all-", b"reduce-scatter", b"collective-")
    return (*(text for text in hlo_seeds() if any(kind in text for kind in kinds)), assignment)


def _compiled(data: bytes, random_: random.Random) -> Outcome:
    """A compiled program beside a program, or another; a buffer assignment beside a compiled program."""
    folder = work_folder()
    program, path, other = folder / "program.mlir", folder / "compiled.txt", folder / "other.txt"
    program.write_text(PROGRAM)
    beside = folder / "compiled-buffer-assignment.txt"
    beside.unlink(missing_ok=True)
    path.write_bytes(data)
    if data.startswith(b"alloc"):
        beside.write_bytes(data)
        path.write_bytes(compiled_seeds()[0])
    other.write_bytes(random_.choice(compiled_seeds()))
    flags = random_.choice(([], ["--json"], ["--csv"], ["--sarif", "-"]))
    if random_.random() < 0.3:
        return command(sdy_compare, [str(path), str(other)], located=False)
    return command(sdy_compare, [*flags, "--no-progress", str(program), str(path)], located=False)


@cache
def module_seeds() -> tuple[bytes, ...]:
    """Returns HLO modules as protocol buffers."""
    data = ROOT / "tests" / "hlo" / "proto" / "data"
    return tuple(path.read_bytes() for path in sorted(data.glob("*.pb")))


def damaged_module(data: bytes, other: bytes, random_: random.Random) -> bytes:
    """Damages bytes anywhere, or fields, which leaves messages well formed."""
    if random_.random() < 0.3:
        return damaged_bytes(data, other, random_)
    return altered(data, random_, random_.choice((0.001, 0.01, 0.1)))


def altered(data: bytes, random_: random.Random, share: float) -> bytes:
    """Returns a message with a share of its fields changed, repeated or dropped, at any depth."""
    made = bytearray()
    for number, kind, value in fields_of(data):
        change = random_.random()
        if change < share / 4:
            continue
        if change < share / 2:
            number = random_.choice((number + 1, random_.randrange(1, 95)))
        for _ in range(2 if change > 1 - share / 4 else 1):
            made += _field(number, kind, value, random_, share)
    return bytes(made)


def _field(number: int, kind: int, value: int | bytes, random_: random.Random, share: float) -> bytes:
    if isinstance(value, int):
        return integer_field(number, random_.choice(EXTREMES) if random_.random() < share else value)
    if kind != BYTES:
        return varint(number << 3 | kind) + value
    try:
        inner = altered(value, random_, share)
    except ShardyError:
        inner = damaged_bytes(value, value, random_) if value and random_.random() < share else value
    return bytes_field(number, inner)


def _module(data: bytes, random_: random.Random) -> Outcome:
    path = work_folder() / "input.pb"
    path.write_bytes(data)
    if random_.random() < 0.2:
        return command(hlo_indexing, [str(path)], located=False)
    flags = random_.choice(FLAGS[:-1])
    return command(sdy_opt, [*flags, "--input-format=hlo-proto", str(path)], located=False)


@cache
def input_seeds() -> tuple[bytes, ...]:
    """Returns a file of each format, and of some that are not read."""
    bytecode = sorted((ROOT / "tests" / "mlir" / "bytecode" / "data").glob("*.mlirbc"))[:2]
    texts = [b"module {}", (ROOT / "examples" / "mlp.mlir").read_bytes(), *hlo_seeds()[:2]]
    result = b'{"format": "shardy_py result", "version": 1, "source": "module {}", "propagated": "module {}"}'
    plain = [*texts, result, *module_seeds()[:2], *(path.read_bytes() for path in bytecode), _archive()]
    return (*plain, *(gzip.compress(data, mtime=0) for data in plain))


def _archive() -> bytes:
    """A zip archive as torch.export writes it, without a program."""
    made = BytesIO()
    with ZipFile(made, "w", ZIP_DEFLATED) as archive:
        archive.writestr("m/models/model.json", "{}")
        archive.writestr("m/archive_format", "pt2")
    return made.getvalue()


def _inputs(data: bytes, random_: random.Random) -> Outcome:
    name = random_.choice((None, "module_0001.f.before_optimizations.txt", "01.input.mlir", "x.hlo.pb"))
    folder = work_folder() / "inputs"
    rmtree(folder, ignore_errors=True)
    folder.mkdir()
    path = folder / (name or "input")
    path.write_bytes(data)
    wanted = random_.choice(("", "", *(each for each in FORMATS if each != "torch-export")))
    if data.startswith(b"PK"):
        wanted = "mlir"  # what torch reads is not ours
    return diagnosed(lambda: Program.load(folder if name else path, input_format=wanted))


HLO_TARGETS: tuple[Target, ...] = (
    Target("hlo", hlo_seeds, _hlo, share=10),
    Target("hlo-program", hlo_seeds, _program, damaged, share=10),
    Target("hlo-compiled", compiled_seeds, _compiled, damaged, share=10),
    Target("hlo-module", module_seeds, _module, damaged_module, share=10),
    Target("inputs", input_seeds, _inputs, damaged_bytes, share=5),
)
