"""Seconds of CPU and memory to convert a training step of many layers: `python benchmarks/torch_step.py`.

    --layers 80 --profile

The model is as Llama's 70B, on the device meta. torch traces the step, which takes the place of an export:
its share is printed too. AdamW has two states for each of some 600 parameters.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import resource
import time
import warnings
from typing import Any

import torch
from torch import nn

from shardy_py import Mesh, Program
from shardy_py.frontends.torch import trace

F = nn.functional


class Layer(nn.Module):
    def __init__(self, size: int, inner: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.RMSNorm(size), nn.RMSNorm(size)
        self.q, self.k, self.v, self.o = (nn.Linear(size, size, bias=False) for _ in range(4))
        self.gate, self.up = (nn.Linear(size, inner, bias=False) for _ in range(2))
        self.down = nn.Linear(inner, size, bias=False)

    def forward(self, x: Any) -> Any:
        batch, length, size = x.shape
        y = self.norm1(x)
        q, k, v = (
            layer(y).view(batch, length, -1, 128).transpose(1, 2) for layer in (self.q, self.k, self.v)
        )
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.o(mixed.transpose(1, 2).reshape(batch, length, size))
        y = self.norm2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Llama(nn.Module):
    def __init__(self, layers: int, size: int = 8192, words: int = 128256) -> None:
        super().__init__()
        self.embed = nn.Embedding(words, size)
        self.layers = nn.ModuleList(Layer(size, 28672) for _ in range(layers))
        self.norm, self.head = nn.RMSNorm(size), nn.Linear(size, words, bias=False)

    def forward(self, tokens: Any) -> Any:
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


def loss(scores: Any, words: Any) -> Any:
    return F.cross_entropy(scores.flatten(0, 1), words.flatten())


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--layers", type=int, default=80)
    parser.add_argument("--profile", action="store_true", help="print the most expensive functions")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    with torch.device("meta"):
        model, tokens = Llama(options.layers), torch.zeros(8, 4096, dtype=torch.int64)
    optimizer = torch.optim.AdamW(model.parameters())
    recording, plain = [0.0], trace._recorded

    def timed(*given: Any) -> Any:
        start = time.process_time()
        found = plain(*given)
        recording[0] += time.process_time() - start
        return found

    trace._recorded = timed

    def convert() -> Program:
        mesh = Mesh.of(dp=8, tp=8)
        given = (model, loss, optimizer, (tokens,))
        return Program.from_torch_training(*given, targets=(tokens,), mesh=mesh)

    start, profile = time.process_time(), cProfile.Profile()
    program = profile.runcall(convert) if options.profile else convert()
    seconds = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    print(f"step     {seconds:6.2f} s, {recording[0]:.2f} of them torch's first trace, peak {peak} MiB")
    print(f"         {len(program.values)} values")
    if options.profile:
        pstats.Stats(profile).sort_stats("cumulative").print_stats(40)


if __name__ == "__main__":
    main()
