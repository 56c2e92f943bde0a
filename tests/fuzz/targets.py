"""The readers of programs, shardings and command lines under test: what each is fed with, and what must hold.

Not here: readers of other files (`file_targets.py`), how answers are judged (`judging.py`).
"""

from __future__ import annotations

import json
import random
import re
import shlex
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

from shardy_py.api import Mesh, P, Program, Sharding
from shardy_py.base.errors import ShardyError
from shardy_py.base.packed import unpacked
from shardy_py.check import CheckSettings
from shardy_py.cli.check import main as sdy_check
from shardy_py.cli.diff import main as sdy_diff
from shardy_py.cli.interpret import main as interpret
from shardy_py.cli.layout import main as hlo_layout
from shardy_py.cli.opt import main as sdy_opt
from shardy_py.cli.view import main as shardy_view
from shardy_py.lsp.analysis import analyse, checked
from shardy_py.lsp.documents import OpenDocument
from shardy_py.passes import PASSES
from shardy_py.xla.hlo_sharding.proto import (
    Value,
    decode,
    encode,
    hlo_sharding_from_proto,
    hlo_sharding_to_proto,
)
from shardy_py.xla.hlo_sharding.text import hlo_sharding_from_text
from tests.differential.meshes import Width
from tests.differential.programs import wide_program
from tests.fuzz.file_targets import FILE_TARGETS
from tests.fuzz.hlo_targets import HLO_TARGETS
from tests.fuzz.judging import Fault, Outcome, Target, command, diagnosed, work_folder
from tests.fuzz.mutation import damaged, damaged_bytes
from tests.fuzz.structure import restructured
from tests.run.interpret.test_limits import TOO_MUCH, program_of

ROOT = Path(__file__).parents[2]
CORPUS = ROOT.parent / "shared" / "corpus"
LARGEST_SEED = 60_000
"""Bytes of a seed; larger programs of the corpus cost more time than they find."""

# ---------------------------------------------------------------------- mlir


@cache
def mlir_seeds() -> tuple[bytes, ...]:
    """Returns the programs of the corpus and of filecheck/, one per `// -----` section."""
    paths = sorted(CORPUS.glob("*.mlir")) + sorted((ROOT / "examples").glob("*.mlir"))
    whole = [path.read_bytes() for path in paths]
    parts = [
        part
        for path in sorted((ROOT / "filecheck").rglob("*.mlir"))
        for part in path.read_bytes().split(b"// -----")
    ]
    return tuple(text for text in whole + parts if len(text) <= LARGEST_SEED)


PIPELINES = (
    "sdy-propagation-pipeline",
    "sdy-import-pipeline",
    "sdy-export-pipeline",
    "sdy-user-priority-propagate",
    "sdy-basic-propagate",
    "xla-before-propagation-pipeline",
)
REPORTS = (
    ("--memory-report", "--no-progress"),
    ("--communication-report", "--json", "--no-progress"),
    ("--explain=%0", "--no-progress"),
    ("--why-not=%0,0,x", "--no-progress"),
    ("--mlir-print-op-generic", "--mlir-print-debuginfo"),
    ("--split-input-file", "--verify-diagnostics"),
    ("--allow-unregistered-dialect",),
)


def damaged_program(data: bytes, other: bytes, random_: random.Random) -> bytes:
    """Damages the text or the structure of a given program, or of one with more constructs of propagation."""
    choice = random_.random()
    if choice < 0.5:
        data = wide_program(random_, Width(unreduced=random_.choice((0.0, 0.1)))).encode()
    if choice < 0.1:
        return data
    return damaged_or_restructured(data, other, random_)


def damaged_or_restructured(data: bytes, other: bytes, random_: random.Random) -> bytes:
    """Damages the text or the structure of a program."""
    return restructured(data, random_) if random_.random() < 0.5 else damaged(data, other, random_)


@cache
def interpret_seeds() -> tuple[bytes, ...]:
    """Returns small programs of StableHLO, and programs that ask for too much."""
    stablehlo = (text for text in mlir_seeds() if b"stablehlo" in text and len(text) < 4_000)
    return (*stablehlo, *(program_of(body).encode() for body in TOO_MUCH))


def _mlir(data: bytes, random_: random.Random) -> Outcome:
    path = work_folder() / "input.mlir"
    path.write_bytes(data)
    kind = random_.random()
    if kind < 0.4:
        names = random_.choices(
            (*PIPELINES, *(row.name for row in PASSES if row.name != "sdy-save-module")), k=2
        )
        return command(sdy_opt, [*(f"--{name}" for name in names), str(path)], located=True)
    if kind < 0.6:
        flags = random_.choice(REPORTS)
        return command(sdy_opt, [*flags, "--sdy-propagation-pipeline", str(path)], located=True)
    if kind < 0.7:
        return command(sdy_check, ["--no-progress", "--json", str(path)], located=True)
    if kind < 0.8:
        return command(shardy_view, ["--program", str(path)], located=True)
    if kind < 0.9:
        return command(sdy_diff, ["--no-progress", "--propagate", str(path), str(path)], located=True)
    return _stable(data)


def _interpret(data: bytes, random_: random.Random) -> Outcome:
    path = work_folder() / "input.mlir"
    path.write_bytes(data)
    names = re.findall(rb"func(?:\.func)? (?:\w+ )*@([\w.]+)\(", data)
    function = ["--function", random_.choice(names).decode()] if names and random_.random() < 0.9 else []
    flags = random_.choice((["--trace"], ["--interpret"], ["--interpreter-print-dense"], []))
    limits = ["--max-elements", "4096", "--max-steps", "2000", "--devices", random_.choice(("1", "2x2", "8"))]
    return command(interpret, [*flags, *limits, *function, "--random", "1", str(path)], located=False)


def _stable(data: bytes) -> Outcome:
    """Checks that a printed program is read back as the same program."""
    try:
        printed = str(Program.parse(data.decode("utf-8", "replace")))
    except ShardyError:
        return "diagnostic"
    if str(Program.parse(printed)) != printed:
        raise Fault("what is printed reads back as something else")
    return "output"


# ---------------------------------------------------------------------- layouts


LAYOUTS = (
    *(b"f32[3,5]{1,0:T(2,2)}", b"bf16[16,128]{1,0:T(8,128)(2,1)}", b"s4[7,3]{0,1:E(4)}", b"pred[]"),
    *(b"(f32[2]{0}, (s32[], u8[3,4]{0,1:T(8,128)S(3)}))", b"f32[<=10,2]{1,0:D(D,C)P(s32[])}"),
    *(b"f32[2,3,4]{2,1,0:T(*,4)L(8)M(64)#(u32)*(u32)}", b"c64[5]{0:S(1)}", b"token[]"),
)


def _layout(data: bytes, random_: random.Random) -> Outcome:
    text = data.decode("utf-8", "replace")
    extra = random_.choice((["draw"], ["bytes"], ["steps"], ["index", "", "1,2"], ["draw", "--svg", "-"]))
    shown, *rest = extra
    more = rest if shown == "draw" else rest[1:]
    return command(
        hlo_layout,
        [shown, "--", text, *more] if shown != "draw" else [shown, *more, "--", text],
        located=False,
    )


# ---------------------------------------------------------------------- shardings

MESH = Mesh.of(a=2, b=4, c=2)
SHARDINGS = (
    b'<@mesh, [{"a"}, {?}]>',
    b'#sdy.sharding<@mesh, [{"a", "b":(1)2, ?}p1, {}], replicated={"c"}, unreduced={"b":(2)2}>',
    b'<mesh<["a"=2, "b"=4]>, [{"b"}p0, {"a", ?}]>',
    b"<mesh<[], device_ids=[3]>, []>",
    b'<mesh<["a"=4], device_ids=[3, 2, 1, 0]>, [{"a"}]>',
)


def _sharding(data: bytes, random_: random.Random) -> Outcome:
    text = data.decode("utf-8", "replace")
    if random_.random() < 0.2:
        mesh = random_.choice(('<["a"=2, "b"=4, "c"=2]>', text))
        return command(shardy_view, [f"--mesh={mesh}", "--shape=8x16", "--", text], located=False)

    def read() -> None:
        parsed = Sharding.parse(text, MESH)
        again = Sharding.parse(str(parsed), parsed.mesh)
        if again != parsed:
            raise Fault(f"{parsed} reads back as {again}")
        shape = (16,) * len(parsed.dimensions)
        parsed.local_shape(shape)
        hlo = diagnosed(lambda: parsed.to_hlo())
        _ = hlo

    return diagnosed(read)


HLO_SHARDINGS = (
    *(b"{replicated}", b"{maximal device=3}", b"{manual}", b"{unknown}", b"{devices=[2,4,2]<=[16]}"),
    *(b"{devices=[4,2]0,1,2,3,4,5,6,7}", b"{devices=[2,2,4]<=[4,4]T(1,0) last_tile_dim_replicate}"),
    b"{devices=[2,2,2,2]<=[2,2,4]T(2,0,1) last_tile_dims={manual, replicated}}",
    b"{{replicated}, {maximal device=0}, {devices=[16]<=[16]}}",
    b'{devices=[16]<=[16] metadata={op_type="add" op_name="x" source_file="a.py" source_line=3}}',
    *(
        b"{shard_as 1}",
        b"{devices=[2,8]<=[16] shard_like 7}",
        b"{unreduced}",
        b"{mesh['a'=2,'b'=4], [{'a'}, {}]}",
        b"{mesh['a'=4,'b'=4], device_ids=([4,4]T(1,0)), [{'a':(1)2, ?}], unreduced={'b':(2)2}}",
        b"{mesh['a'=4,'b'=4], [{'b'}], manual={'a':(2)2}}",
        b"{mesh['a'=2,'b'=2], device_ids=(3,2,1,0), [{'b'}, {'a'}], replicated={'1'}}",
        b"{mesh['a'=2], [{'a'}], metadata={op_name='x'}}",
        b"{maximal_mesh[device_id=3]}",
        b"{devices=[1,2,2,2,2]<=[16] last_tile_dims={unreduced, manual, replicated} shard_as 3}",
    ),
)


def _hlo_sharding(data: bytes, random_: random.Random) -> Outcome:
    text = data.decode("utf-8", "replace")
    rank = random_.randrange(4)

    def read() -> None:
        parsed = hlo_sharding_from_text(text)
        if hlo_sharding_from_text(parsed.text(include_metadata=True)) != parsed:
            raise Fault(f"{parsed} reads back as something else")
        if hlo_sharding_from_proto(hlo_sharding_to_proto(parsed)) != parsed:
            raise Fault(f"the proto of {parsed} reads back as something else")
        sharding = Sharding.from_hlo(parsed, MESH, rank)
        again = Sharding.from_hlo(sharding.to_hlo(), sharding.mesh, rank)
        if (again.details, again.spec) != (sharding.details, _printable(sharding)):
            raise Fault(f"{parsed} becomes {sharding.to_hlo()}")
        if sharding.to_hlo().all_metadata != parsed.all_metadata:
            raise Fault(f"the metadata of {parsed} is lost")

    return diagnosed(read)


def _printable(sharding: Sharding) -> P:
    """What tiles state of a sharding: neither open dimensions nor replicated axes."""
    closed = (replace(dimension, is_closed=True) for dimension in sharding.dimensions)
    return P(*closed, unreduced=sharding.unreduced_axes, reduction=sharding.value.reduction)


@cache
def proto_seeds() -> tuple[bytes, ...]:
    """Returns the protos of the text seeds."""
    protos: list[bytes] = []
    for text in HLO_SHARDINGS:
        try:
            protos.append(hlo_sharding_to_proto(hlo_sharding_from_text(text.decode())))
        except ShardyError:
            continue
    return tuple(protos)


EXTREMES = (-1, 0, 1, 2, 3, 4, 7, 16, 1 << 16, 1 << 31, 1 << 40, (1 << 62) + 1, (1 << 63) - 1, -(1 << 63))


def altered(data: bytes, random_: random.Random) -> bytes:
    """Returns a message with some of its fields changed, repeated or dropped; it stays well formed."""
    fields: list[tuple[int, Value]] = []
    for number, value in decode(data).fields:
        change = random_.random()
        if change < 0.05:
            continue
        if change < 0.1:
            number = random_.randrange(1, 16)
        if isinstance(value, bytes):
            try:
                fields.append((number, altered(value, random_) if change < 0.5 else value))
            except ShardyError:
                numbers = unpacked(value) if value and value[-1] < 128 else [0]
                numbers[random_.randrange(len(numbers))] = random_.choice(EXTREMES)
                fields.append((number, numbers if change < 0.3 else value))
        else:
            fields.append((number, random_.choice(EXTREMES) if change < 0.3 else value))
    if random_.random() < 0.2:
        fields.append((random_.randrange(1, 14), random_.choice(EXTREMES)))
    return encode(fields)


def _hlo_proto(data: bytes, random_: random.Random) -> Outcome:
    rank = random_.randrange(4)
    if random_.random() < 0.7:
        data = altered(random_.choice(proto_seeds()), random_)

    def read() -> None:
        parsed = hlo_sharding_from_proto(data)
        str(parsed)
        Sharding.from_hlo(parsed, MESH, rank).to_hlo()

    return diagnosed(read)


# ---------------------------------------------------------------------- command lines and files of results

OPTIONS = (
    b"--pass-pipeline=builtin.module(sdy-propagation-pipeline{conservative-propagation=true})",
    b"--sdy-propagation-pipeline=enable-insert-explicit-collectives=true",
    b"--sdy-insert-explicit-reshards='enable-full-version=true avoid-reshards-on-named-computations=false'",
    b"--split-input-file='// ---' --output-split-marker=x --verify-diagnostics=all --verify-each",
    b"--mlir-print-ir-before=sdy-close-shardings --mlir-print-ir-after-all --mlir-timing",
    b"--memory-report=tpu --communication-report=tpu-v5p,x=tpu-dcn --json --sdy-propagation-pipeline",
    b"--explain='result 0' --why-not=%0,0,x --explain=%arg0 --why-not='@main:%arg0,1,\"x\"'",
    b"--xla-sdy-import-shardings='mesh-axes=x=4,y=2 allow-propagation-to-args=true,false'",
)
SMALL = b"""sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @main(%x: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<8x4xf32> {
  %0 = stablehlo.add %x, %x : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}
"""


def _small_program() -> Path:
    path = work_folder() / "small.mlir"
    if not path.exists():
        path.write_bytes(SMALL)
    return path


def _words(data: bytes) -> list[str]:
    text = data.decode("utf-8", "replace")
    try:
        words = shlex.split(text)
    except ValueError:
        words = text.split()
    # Output files and folders would be written wherever the damaged argument says.
    return [
        word
        for word in words
        if not re.match(r"-?-?(o\b|.*(dump|save|output-dir|module))", word) or "=" not in word
    ]


def _options(data: bytes, random_: random.Random) -> Outcome:
    words = [word for word in _words(data) if word.lstrip("-") != "o"]
    return command(sdy_opt, [*words, str(_small_program())], located=False)


def _arguments(data: bytes, random_: random.Random) -> Outcome:
    main = random_.choice((sdy_check, sdy_diff, shardy_view))
    path = str(_small_program())
    words = _words(data)
    if main is sdy_diff:
        return command(main, [*words, path, path], located=False)
    return command(main, [*words, *(["--program"] if main is shardy_view else []), path], located=False)


ARGUMENTS = (
    b"--select SDY001,SDY003 --ignore SDY002 --level SDY001=error --fail-on never --replicated-bytes 64K",
    b"--reshard-bytes 1G --model tpu-v5p,data=tpu-dcn --no-propagate --json",
    b"--propagate --model tpu-v5e,x=tpu-dcn --target tpu --exit-code",
    b'--mesh \'<["x"=2, "y"=4]>\' --shape 8x16 --device 3 --value %0',
    b"--value 'result 0' --json --device 7",
)


@cache
def baseline_seeds() -> tuple[bytes, ...]:
    """Returns a baseline that sdy-check wrote, and variations of its kind."""
    path = work_folder() / "baseline.json"
    command(sdy_check, ["--no-progress", "--write-baseline", str(path), str(_small_program())], located=False)
    written = path.read_bytes()
    entry = {"rule": "SDY001", "fingerprint": "0123", "message": "m", "count": 1}
    return (written, json.dumps({"version": 1, "findings": [entry]}).encode())


def _baseline(data: bytes, random_: random.Random) -> Outcome:
    path = work_folder() / "damaged.json"
    path.write_bytes(data)
    return command(
        sdy_check, ["--no-progress", "--baseline", str(path), str(_small_program())], located=False
    )


@cache
def bytecode_seeds() -> tuple[bytes, ...]:
    """Returns MLIR bytecode and portable artifacts, in several versions."""
    files = sorted((ROOT / "tests" / "mlir" / "bytecode" / "data").glob("*.mlirbc"))
    return tuple(file.read_bytes() for file in files)


def damaged_bytecode(data: bytes, other: bytes, random_: random.Random) -> bytes:
    """Damages bytes anywhere, or changes some of them, which leaves sections where they are."""
    if random_.random() < 0.3:
        return damaged_bytes(data, other, random_)
    changed = bytearray(data)
    for _ in range(random_.choice((1, 1, 2, 4, 16))):
        at = random_.randrange(4, len(changed))
        near = (changed[at] + random_.choice((-4, -2, -1, 1, 2, 4))) % 256
        changed[at] = random_.choice((near, near, random_.randrange(256), 0, 1, 0xFF))
    return bytes(changed)


def _typed(data: bytes, random_: random.Random) -> Outcome:
    """The language server: a program is typed up to some place, and another text was open before."""
    text = data.decode("utf-8", "replace")
    document = OpenDocument("model.mlir")
    document.change(text[: random_.randrange(len(text) + 1)])
    for _ in range(2):
        found = analyse(document.text, document.file, CheckSettings())
        document.keep(found)
        if random_.random() < 0.3:
            document.keep(checked(found, document.file, CheckSettings(reshard_bytes=1)))
        for problem in document.problems():
            if not 0 <= problem.start <= problem.end <= len(document.text):
                raise Fault(f"a problem from {problem.start} to {problem.end}")
        document.change(text)
        for definition, label, _ in document.hints(0, len(text)):
            if not label or text[definition.start] != "%":
                raise Fault(f"the hint {label!r}")
        for remedy in document.remedies(0, len(text)):
            if not remedy.changes and not remedy.files:
                raise Fault("a remedy that changes nothing")
        for number in range(5):
            document.index.at(random_.randrange(len(text) + 2))
            place = document.lines.place(random_.randrange(len(text) + 2))
            if number == 0 and document.lines.place(document.lines.offset(*place)) != place:
                raise Fault(f"the place {place}")
    return "diagnostic" if document.problems() else "output"


def _bytecode(data: bytes, random_: random.Random) -> Outcome:
    data = b"ML\xefR" + data[4:]
    if random_.random() < 0.8:
        is_compiled = random_.random() < 0.3
        return diagnosed(lambda: Program.parse(data, as_compiled=is_compiled).text())
    path = work_folder() / "input.mlirbc"
    path.write_bytes(data)
    return command(random_.choice((sdy_opt, sdy_check)), [str(path)], located=False)


TARGETS: tuple[Target, ...] = (
    Target("mlir", mlir_seeds, _mlir, damaged_program, share=30),
    Target("typed", interpret_seeds, _typed, damaged_program, share=6),
    Target("interpret", interpret_seeds, _interpret, damaged_or_restructured, share=15),
    Target("layout", lambda: LAYOUTS, _layout, share=10),
    Target("sharding", lambda: SHARDINGS, _sharding, share=15),
    Target("hlo-sharding", lambda: HLO_SHARDINGS, _hlo_sharding, share=15),
    Target("hlo-proto", proto_seeds, _hlo_proto, damaged_bytes, share=15),
    Target("options", lambda: OPTIONS, _options, share=10),
    Target("arguments", lambda: ARGUMENTS, _arguments, share=5),
    Target("baseline", baseline_seeds, _baseline, share=3),
    Target("bytecode", bytecode_seeds, _bytecode, damaged_bytecode, share=15),
    *FILE_TARGETS,
    *HLO_TARGETS,
)


def targets(names: list[str]) -> Iterator[Target]:
    """Yields the targets of these names, or all; those without seeds are reported and skipped."""
    unknown = set(names) - {target.name for target in TARGETS}
    if unknown:
        raise SystemExit(f"unknown targets: {', '.join(sorted(unknown))}")
    for target in TARGETS:
        if not names or target.name in names:
            if target.seeds():
                yield target
            else:
                print(f"{target.name}: skipped, its seeds need jaxlib", file=sys.stderr)
