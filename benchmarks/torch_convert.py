"""Seconds of CPU to export and convert a Llama of many layers: `python benchmarks/torch_convert.py`.

    --layers 80 --runs 3 --model written|transformers --profile

Weights have tiny sizes: the time depends on the number of ops. The export is torch's own.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import time
import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any

import torch
from torch import nn

from shardy_py import Mesh
from shardy_py.frontends.torch import from_exported

F = nn.functional


def rotated(x: Any, cos: Any, sin: Any) -> Any:
    first, second = x.chunk(2, -1)
    return x * cos + torch.cat((-second, first), -1) * sin


class Layer(nn.Module):
    """A layer as Llama's: RMS norms, rotary positions, keys and values for groups of heads, a gated MLP."""

    def __init__(self, size: int, heads: int) -> None:
        super().__init__()
        self.heads, self.width = heads, size // heads
        self.norm1, self.norm2 = nn.RMSNorm(size), nn.RMSNorm(size)
        linear = [nn.Linear(size, outer, bias=False) for outer in (size, size // 2, size // 2, size)]
        self.q, self.k, self.v, self.o = linear
        self.gate, self.up = (nn.Linear(size, 2 * size, bias=False) for _ in range(2))
        self.down = nn.Linear(2 * size, size, bias=False)

    def forward(self, x: Any, cos: Any, sin: Any) -> Any:
        y = self.norm1(x)
        batch, length, size = y.shape
        q, k, v = (
            layer(y).view(batch, length, -1, self.width).transpose(1, 2) for layer in (self.q, self.k, self.v)
        )
        q, k = rotated(q, cos, sin), rotated(k, cos, sin)
        k, v = (part.repeat_interleave(2, dim=1) for part in (k, v))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.o(mixed.transpose(1, 2).reshape(batch, length, size))
        y = self.norm2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Llama(nn.Module):
    def __init__(self, layers: int, size: int = 32, heads: int = 4, words: int = 64) -> None:
        super().__init__()
        self.embed = nn.Embedding(words, size)
        self.layers = nn.ModuleList(Layer(size, heads) for _ in range(layers))
        self.norm, self.head = nn.RMSNorm(size), nn.Linear(size, words, bias=False)
        self.width = size // heads

    def forward(self, tokens: Any) -> Any:
        frequencies = 1e4 ** (-torch.arange(0, self.width, 2) / self.width)
        angles = torch.outer(torch.arange(tokens.shape[1]), frequencies)
        angles = torch.cat((angles, angles), -1)
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x, angles.cos(), angles.sin())
        return self.head(self.norm(x))


def model_of(kind: str, layers: int) -> Any:
    if kind == "written":
        return Llama(layers)
    transformers: Any = import_module("transformers")
    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2}
    return transformers.LlamaForCausalLM(
        transformers.LlamaConfig(vocab_size=64, num_hidden_layers=layers, use_cache=False, **sizes)
    )


def seconds(function: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    result = function()
    return time.process_time() - start, result


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--layers", type=int, default=80)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--model", choices=["written", "transformers"], default="written")
    parser.add_argument("--profile", action="store_true", help="print the most expensive functions")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    model = model_of(options.model, options.layers).eval()
    tokens = torch.randint(0, 64, (2, 16))
    exporting, exported = seconds(lambda: torch.export.export(model, (tokens,)))
    print(f"export   {exporting:6.2f} s, {len(exported.graph.nodes)} nodes")
    mesh = Mesh.of(dp=8, tp=8)
    for _ in range(options.runs):
        converting, program = seconds(lambda: from_exported(exported, mesh))
        print(f"convert  {converting:6.2f} s, {len(program.values)} values")
    if options.profile:
        profile = cProfile.Profile()
        profile.runcall(from_exported, exported, mesh)
        pstats.Stats(profile).sort_stats("cumulative").print_stats(70)


if __name__ == "__main__":
    main()
