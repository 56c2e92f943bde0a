"""The order in which kernels are fused on an H100, beside XLA's own log of it.

    python -m tests.xla.targets.on_fusions [NAME ...]
    python -m tests.xla.targets.on_fusions read SET NAME FOLDER

The first prints for each program how many fusions XLA makes and we, how many are in one order (the ratio of
`difflib`), and how many of these have equal gains in quarters of a nanosecond. The second adds a program to
`fusions_h100.json`, from the dumps of a compiler whose `xla_dump_hlo_pass_re` names `priority-fusion`:
`*before_priority-fusion.txt`, `*priority_fusion_dump.txt`. A row: the op that is computed in others, the
sizes of its result in order, but for 1, and the gain, null where the log does not tell.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from difflib import SequenceMatcher
from pathlib import Path

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=8")

from shardy_py import Program, propagate
from shardy_py.base import releases
from shardy_py.xla.targets.gpu.kernels import KernelFusion
from tests.xla.targets.compile_models import lowered

KNOWN = Path(__file__).parent / "fusions_h100.json"
TICKS = 4000
Fusion = tuple[str, tuple[int, ...], int | None]
_NAMES = {"broadcast": "broadcast_in_dim", "slice": "dynamic_slice"}
_OP = re.compile(r"^\s*(?:ROOT )?%?([\w.\-]+) = (\S+) ([\w\-]+)\(", re.MULTILINE)
_STEP = re.compile(r"(fusion|update_priority|producer_ineligible) \{\n((?:\s+\w+: .*\n)+)")


def _row(kind: str, sizes: Iterator[int]) -> tuple[str, tuple[int, ...]]:
    """The op and the sizes of its result as both sides name them."""
    kind = kind.rpartition(".")[-1].replace("-", "_")
    return _NAMES.get(kind, kind), tuple(sorted(size for size in sizes if size != 1))


def logged(folder: Path) -> list[Fusion]:
    """The fusions of XLA's log, but for bitcasts and constants."""
    (module,), (log,) = (
        [*folder.glob("*before_priority-fusion.txt")],
        [*folder.glob("*priority_fusion_dump.txt")],
    )
    ops = {name: (kind, type_) for name, type_, kind in _OP.findall(module.read_text())}
    roots: dict[str, str] = {}
    gains: dict[str, int] = {}
    found: list[Fusion] = []
    last, fused = "", set[str]()
    for step, text in _STEP.findall(log.read_text()):
        facts: dict[str, str] = dict(re.findall(r'(\w+): "?([^"\n]*)', text))
        producer = facts["producer_name"]
        if step == "update_priority":
            gain = round((float(facts["us_unfused"]) - float(facts.get("us_fused", 0))) * TICKS)
            gains[producer] = gain + (gains.get(producer, 0) if producer not in fused else 0)
        if step != "fusion":
            if step == "producer_ineligible" or gains[producer] < 0:
                gains.pop(producer, None)
            last = ""
            continue
        consumer, made = facts["consumer_name"], facts["fusion_name"]
        fused = {made} if not last else {*fused, made}
        roots[made] = roots.get(consumer, consumer)
        if producer != last:
            kind, type_ = ops.get(roots.get(producer, producer), ("bitcast", ""))
            sizes = map(int, re.findall(r"\d+", type_.partition("[")[2].partition("]")[0]))
            if kind not in ("bitcast", "constant"):
                found.append((*_row(kind, sizes), gains.get(producer)))
            gains.pop(producer, None)
        if made != consumer:
            gains.pop(consumer, None)
        last = producer
    return found


def chosen(text: str) -> list[Fusion]:
    """Our fusions, in their order."""
    found: list[Fusion] = []
    fuse = KernelFusion._fuse

    def noted(self: KernelFusion, number: int) -> set[int]:
        type_ = self.graph.types[number]
        sizes = iter(()) if type_ is None else (size or 0 for size in type_.shape)
        found.append((*_row(self.graph.kinds[number], sizes), self._priority(number)))
        return fuse(self, number)

    KernelFusion._fuse = noted
    try:
        with releases.of(releases.JAX_0_10):
            result = propagate(Program.parse(text, as_compiled=True), progress=False)
            assert result.memory("h100", partitioner="xla").estimate is not None
    finally:
        KernelFusion._fuse = fuse
    return found


def compared(theirs: list[Fusion], ours: list[Fusion]) -> tuple[float, int]:
    """The ratio of fusions that are in one order, and how many of these have equal gains.

    >>> one, other = ("add", (4,), 4000), ("tanh", (4,), 3000)
    >>> compared([one, other], [one, ("tanh", (4,), 2999)]), compared([one, other], [other, one])
    ((1.0, 1), (0.5, 1))
    """
    matcher = SequenceMatcher(None, *([each[:2] for each in side] for side in (theirs, ours)), autojunk=False)
    same = 0
    for first, second, count in matcher.get_matching_blocks():
        pairs = zip(theirs[first : first + count], ours[second : second + count], strict=True)
        same += sum(their[2] == our[2] for their, our in pairs)
    return matcher.ratio(), same


def main(arguments: list[str]) -> None:
    """Compares programs, or reads a log."""
    known = json.loads(KNOWN.read_text()) if KNOWN.exists() else {}
    if arguments[:1] == ["read"]:
        _, set_, name, folder = arguments
        known[name] = {"set": set_, "fusions": logged(Path(folder))}
        rows = (f"{json.dumps(name)}: {json.dumps(of)}" for name, of in known.items())
        KNOWN.write_text("{\n" + ",\n".join(rows) + "\n}\n")
        return
    texts = {name: text for set_ in {each["set"] for each in known.values()} for name, text in lowered(set_)}
    for name in arguments or known:
        theirs: list[Fusion] = [(kind, tuple(sizes), gain) for kind, sizes, gain in known[name]["fusions"]]
        ours = chosen(texts[name])
        ratio, same = compared(theirs, ours)
        print(f"{name:28}{len(theirs):6}{len(ours):6}{ratio:8.3f}{same:6}")


if __name__ == "__main__":
    main(sys.argv[1:])
