"""The inputs of the benchmarks: real programs from ../shared/corpus, or enlarged copies of the example."""

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
    """One input: its name and the path of its text, possibly gzipped."""

    name: str
    path: Path

    @property
    def text(self) -> str:
        data = self.path.read_bytes()
        return (gzip.decompress(data) if self.path.suffix == ".gz" else data).decode()


def corpus_program(name: str) -> Program | None:
    """Returns a program of the corpus, None if it is missing."""
    for suffix in (".mlir", ".mlir.gz"):
        path = CORPUS / f"{name}{suffix}"
        if path.exists():
            return Program(name, path)
    return None


def large_and_small(folder: Path) -> tuple[Program, Program]:
    """Returns programs of 48 and 12 layers; without the corpus, substitutes written to `folder`."""
    found = corpus_program("transformer_train_48"), corpus_program("transformer_train_12")
    if found[0] and found[1]:
        return found[0], found[1]
    print(f"{CORPUS} is not there: timing 12 and 3 copies of {EXAMPLE.name} instead\n")
    return _copies(12, folder), _copies(3, folder)


def _copies(count: int, folder: Path) -> Program:
    """Writes the example with each function repeated `count` times under different names."""
    head, *functions = re.split(r"(?m)^(?=  func\.func )", EXAMPLE.read_text())
    body = "".join(functions)
    tail = body[body.rindex("}\n") :]
    body = body[: -len(tail)]
    names = "|".join(re.findall(r"(?m)^  func\.func .*?@(\w+)", body))
    copies = [body, *(re.sub(rf"@({names})\b", rf"@\g<1>_copy{i}", body) for i in range(1, count))]
    path = folder / f"example_{count}.mlir"
    path.write_text(head + "".join(copies) + tail)
    return Program(path.stem, path)
