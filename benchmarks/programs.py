"""The inputs of the benchmarks: real programs from ../shared/corpus, or copies of the example made large."""

from __future__ import annotations

import gzip
import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CORPUS = ROOT.parent / "shared" / "corpus"
EXAMPLE = ROOT / "examples" / "transformer_train.mlir"


@dataclass(frozen=True, slots=True)
class Program:
    """One input: its name and where its text (perhaps gzipped) lies."""

    name: str
    path: Path

    @property
    def text(self) -> str:
        data = self.path.read_bytes()
        return (gzip.decompress(data) if self.path.suffix == ".gz" else data).decode()


def corpus_program(name: str) -> Program | None:
    """A program of the corpus, None if it is not there."""
    for suffix in (".mlir", ".mlir.gz"):
        path = CORPUS / f"{name}{suffix}"
        if path.exists():
            return Program(name, path)
    return None


def large_and_small(folder: Path) -> tuple[Program, Program]:
    """A program of 48 layers and the same with 12; stand-ins written to `folder` when there is no corpus."""
    found = corpus_program("transformer_train_48"), corpus_program("transformer_train_12")
    if found[0] and found[1]:
        return found[0], found[1]
    print(f"{CORPUS} is not there: timing 12 and 3 copies of {EXAMPLE.name} instead\n")
    return _copies(12, folder), _copies(3, folder)


def _copies(count: int, folder: Path) -> Program:
    """The example with each function `count` times, all but the first under names of their own."""
    head, *functions = re.split(r"(?m)^(?=  func\.func )", EXAMPLE.read_text())
    body = "".join(functions)
    tail = body[body.rindex("}\n") :]
    body = body[: -len(tail)]
    names = "|".join(re.findall(r"(?m)^  func\.func .*?@(\w+)", body))
    copies = [body, *(re.sub(rf"@({names})\b", rf"@\g<1>_copy{i}", body) for i in range(1, count))]
    path = folder / f"example_{count}.mlir"
    path.write_text(head + "".join(copies) + tail)
    return Program(path.stem, path)
