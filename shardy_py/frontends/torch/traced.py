"""The type of tensors whose arithmetic torch traces: their operators and methods are torch's, without types.

Not here: what other objects of torch have (`protocols.py`).
"""

from __future__ import annotations

from typing import Any

Traced = Any
"""A tensor of torch, or what is computed from one."""
