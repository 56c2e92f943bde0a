"""The readers of files that are not programs: results, arrays, hardware, problems, sources, amounts."""

from __future__ import annotations

import gzip
import io
import json
import os
import random
from functools import cache
from pathlib import Path

import numpy as np

from shardy_py import Program, Result, propagate
from shardy_py.base.byte_sizes import byte_size
from shardy_py.check.settings import settings_in
from shardy_py.cli.check import main as sdy_check
from shardy_py.cli.explorer import main as explorer
from shardy_py.cli.interpret import main as interpret
from shardy_py.hardware.placement import placement_of
from shardy_py.search.assignment.iopddl import problem_of, solution_of
from tests.fuzz.judging import Fault, Outcome, Target, command, diagnosed, work_folder
from tests.fuzz.mutation import damaged, damaged_bytes

ROOT = Path(__file__).parents[2]
PROGRAM = b"""sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %b: tensor<2xi32>)
    -> (tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, tensor<2xi32>) {
  %0 = stablehlo.add %a, %a : tensor<8x4xf32>
  return %0, %b : tensor<8x4xf32>, tensor<2xi32>
}
"""
NUMBERS = (0, -1, 1, True, None, 1e400, 10**400, "x", [], {}, 1.5)


def _written(name: str, data: bytes) -> str:
    path = work_folder() / name
    path.write_bytes(data)
    return str(path)


# ---------------------------------------------------------------------- saved results


@cache
def saved_seeds() -> tuple[bytes, ...]:
    """Returns the texts of saved results."""
    result = propagate(Program.parse(PROGRAM.decode()), progress=False)
    result.save(path := work_folder() / "seed.sdy")
    return (gzip.decompress(path.read_bytes()),)


def damaged_json(data: bytes, other: bytes, random_: random.Random) -> bytes:
    """Damages the text, or replaces values in it by others."""
    if random_.random() < 0.4:
        return damaged(data, other, random_)
    try:
        document = json.loads(data)
    except ValueError:
        return data
    for _ in range(random_.randint(1, 3)):
        _replace_one(document, random_)
    return json.dumps(document).encode()


def _replace_one(document: object, random_: random.Random) -> None:
    """Goes down to some value and replaces or removes it."""
    if isinstance(document, dict) and document:
        key = random_.choice([*document])
        values, at = document, key
    elif isinstance(document, list) and document:
        values, at = document, random_.randrange(len(document))
    else:
        return
    inner = values[at]
    if isinstance(inner, dict | list) and inner and random_.random() < 0.7:
        _replace_one(inner, random_)
    elif random_.random() < 0.2:
        del values[at]
    elif isinstance(inner, str) and len(inner) > 100:
        values[at] = damaged(inner.encode(), b"", random_).decode("utf-8", "replace")
    else:
        values[at] = random_.choice(NUMBERS)


def _saved(data: bytes, random_: random.Random) -> Outcome:
    packed = gzip.compress(data)
    if random_.random() < 0.1:
        packed = damaged_bytes(packed, b"", random_)
    path, folder = _written("result.sdy", packed), work_folder()
    before = sorted(os.listdir(folder)), sorted(os.listdir())

    def read() -> None:
        result = Result.load(path)
        str(result.summary())
        str(result.communication())

    outcome = diagnosed(read)
    if before != (sorted(os.listdir(folder)), sorted(os.listdir())):
        raise Fault("loading writes files")
    return outcome


# ---------------------------------------------------------------------- arrays


@cache
def array_seeds() -> tuple[bytes, ...]:
    """Returns archives of arrays, compressed and not."""
    arrays = {"a": np.ones((8, 4), np.float32), "b": np.arange(2, dtype=np.int32)}
    found: list[bytes] = []
    for save in (np.savez, np.savez_compressed):
        save(output := io.BytesIO(), **arrays)
        found.append(output.getvalue())
    np.save(output := io.BytesIO(), arrays["a"])
    return (*found, output.getvalue())


def _arrays(data: bytes, random_: random.Random) -> Outcome:
    program = _written("arrays.mlir", PROGRAM)
    path = _written(random_.choice(("x.npz", "x.npy")), data)
    rest = random_.choice((["--random", "1"], []))
    return command(interpret, ["--inputs", path, *rest, program], located=False)


# ---------------------------------------------------------------------- hardware, amounts, problems

HARDWARE = b"""# hardware
name = "mine"
memory_gib = 8
memory_gb_per_second = 100
vector_tflops = 1
layouts = "linear"
[matrix_tflops]
bf16 = 10
f32 = 5
[network]
kind = "switch"
devices = 4
gb_per_second = 20
latency_us = 1
[beyond]
gb_per_second = 2
latency_us = 10
"""


def _hardware(data: bytes, random_: random.Random) -> Outcome:
    path = _written("hardware.toml", data)
    if random_.random() < 0.2:
        result = propagate(Program.parse(PROGRAM.decode()), progress=False)
        return diagnosed(lambda: str(result.time(path)))
    return diagnosed(lambda: placement_of(f"{path},data=beyond"))


SETTINGS = (
    b"""[project]
name = "a"
[tool.sdy-check]
select = ["SDY001", 'SDY003'] # both
level = { SDY002 = "error" }
per-file-ignores."*.mlir" = ["SDY004"]
fail-on = "never"
reshard-bytes = "4M"
model = "tpu-v5p,x=tpu-dcn"
source-root = ["."]
expect = ["all_gather:x"]
verdict = false
""",
    b"""tool.sdy-check.jax = "0.12"
tool.sdy-check.exclude = ['''a''', """
    b""", ["c"]]
""",
)


def _settings(data: bytes, random_: random.Random) -> Outcome:
    if random_.random() < 0.2:
        path = _written("pyproject.toml", data)
        return command(sdy_check, ["--no-progress", "--config", path, _program()], located=False)
    return diagnosed(lambda: settings_in(data.decode("utf-8", "replace"), "pyproject.toml"))


def _sizes(data: bytes, random_: random.Random) -> Outcome:
    text = data.decode("utf-8", "replace")
    whole = random_.choice((None, 1 << 34))

    def read() -> None:
        if byte_size(text, whole=whole, whole_name="memory") < 0:
            raise Fault(f"{text!r} is a negative amount")

    if random_.random() < 0.1 and "\0" not in text:
        return command(sdy_check, ["--no-progress", f"--reshard-bytes={text}", _program()], located=False)
    return diagnosed(read)


def _program() -> str:
    return _written("program.mlir", PROGRAM)


def _problems(data: bytes, random_: random.Random) -> Outcome:
    text = data.decode("utf-8", "replace")
    return diagnosed(lambda: solution_of(text) if random_.random() < 0.2 else problem_of(text))


# ---------------------------------------------------------------------- source locations

LOCATIONS = (
    b'loc("model.py":1:0 to :27)',
    b'loc("/dev/zero":1:0)',
    b'loc("../outside/x.py":3:4)',
    b'loc("jit(f)/add"("model.py":2:3))',
    b'loc(callsite("f"("a/model.py":1:2) at "model.py":4294967295:9))',
    b'loc(fused<"x">["a.py":1:2, "link.py":3:4 to 5:6, unknown])',
    b'loc("loop.py":1:1)',
)


def _locations(data: bytes, random_: random.Random) -> Outcome:
    folder = work_folder() / "sources"
    if not folder.exists():
        folder.mkdir()
        (folder / "model.py").write_bytes(b"a = 1\nb = 2\n")
        (folder / "link.py").symlink_to("/etc/hostname")
        (folder / "loop.py").symlink_to("loop.py")
        os.mkfifo(folder / "pipe.py")
    program = PROGRAM.replace(b"%a, %a : tensor<8x4xf32>", b"%a, %a : tensor<8x4xf32> " + data)
    path = folder / "input.mlir"
    path.write_bytes(program)
    flags = ["--no-progress", "--source-root", str(folder)]
    if random_.random() < 0.3:
        flags = ["--no-progress", "-o", str(folder / "out.html")]
        return command(explorer, [*flags, str(path)], located=True)
    return command(sdy_check, [*flags, "--reshard-bytes=1", str(path)], located=True)


FILE_TARGETS: tuple[Target, ...] = (
    Target("saved", saved_seeds, _saved, damaged_json, share=5),
    Target("arrays", array_seeds, _arrays, damaged_bytes, share=5),
    Target("hardware", lambda: (HARDWARE,), _hardware, share=5),
    Target("settings", lambda: SETTINGS, _settings, share=3),
    Target("sizes", lambda: (b"16GiB", b"64M", b"1_000", b"90%", b"1.5e3 kB", b"0.5TiB"), _sizes, share=2),
    Target("problems", lambda: _example(), _problems, damaged_json, share=3),
    Target("locations", lambda: LOCATIONS, _locations, share=5),
)


def _example() -> tuple[bytes, ...]:
    return ((ROOT / "tests" / "search" / "assignment" / "example.json").read_bytes(), b"[0, 1, 2]")
