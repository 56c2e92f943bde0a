"""Batch norm as it is on each device of torch: with the statistics of its part of the batch.

A program has the statistics of the batch, as `SyncBatchNorm`. A model in which `of_parts` replaced the norms
has those of parts, so its collectives are those of torch: what differs otherwise is due to statistics alone.

    of_parts(model, 4)      the statistics of each quarter of the batch
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn


class PartsNorm(nn.Module):
    """`nn.BatchNorm2d` in training, without running statistics, which differ by device."""

    def __init__(self, norm: nn.BatchNorm2d, parts: int) -> None:
        super().__init__()
        self.weight, self.bias, self.eps, self.parts = norm.weight, norm.bias, norm.eps, parts

    def forward(self, x: Any) -> Any:
        parts = x.unflatten(0, (self.parts, -1))
        variance, mean = torch.var_mean(parts, (1, 3, 4), correction=0, keepdim=True)
        normal = ((parts - mean) * (variance + self.eps).rsqrt()).flatten(0, 1)
        return normal * self.weight[:, None, None] + self.bias[:, None, None]


def has_norms(model: nn.Module) -> bool:
    """Returns whether a model has batch norms."""
    return any(isinstance(module, nn.BatchNorm2d) for module in model.modules())


def of_parts(model: nn.Module, parts: int) -> nn.Module:
    """The model with other batch norms, in place: the statistics are those of so many parts of the batch."""
    for path, module in [*model.named_modules()]:
        if isinstance(module, nn.BatchNorm2d):
            model.set_submodule(path, PartsNorm(module, parts))
    return model
