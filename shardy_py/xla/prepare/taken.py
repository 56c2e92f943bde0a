"""How a program is taken: as JAX compiles it, or as it is written. One rule for the API and all commands.

| taken | before propagation | collectives, unless asked otherwise |
|---|---|---|
| as compiled | XLA's steps change it | those of XLA's SPMD partitioner |
| as written | it stays as it is | those of Shardy's reshards |

A program of JAX (`written_by_jax.py`) is taken as compiled, any other as written. The steps run once: those
that ran leave a mark on the module, and a program that has been propagated is past them.
"""

from __future__ import annotations

from dataclasses import field

from xdsl.dialects.builtin import ModuleOp, UnitAttr

from shardy_py.base.records import dataclass
from shardy_py.base.releases import Release, current
from shardy_py.mlir.holders import SHARDING
from shardy_py.mlir.ir import walk_pre_order
from shardy_py.passes.pipelines import before_propagation_passes
from shardy_py.passes.runner import run_passes
from shardy_py.xla.prepare.written_by_jax import has_parameters_of_torch, verdict

MARK = "shardy_py.as_compiled"
"""The attribute of a module that has gone through XLA's steps."""
_SHARDED_BY_JAX = {f"stablehlo.{name}" for name in ("custom_call", "infeed", "outfeed", "send", "recv")}
"""Ops to which JAX itself gives shardings."""


@dataclass(frozen=True, slots=True)
class WaysOut:
    """The option that makes a program be taken the other way, in the words of a surface."""

    as_written: str
    as_compiled: str


IN_PYTHON = WaysOut("as_compiled=False", "as_compiled=True")
IN_SHELL = WaysOut("--as-written", "--as-compiled")


@dataclass(frozen=True, slots=True)
class Taken:
    """How a program is taken.

    is_compiled: as JAX compiles it; otherwise as it is written.
    because: the traces that decided; "" if the caller did.
    is_past_steps: whether XLA's steps are left out, as the program has been propagated.
    is_by_jax: whether traces of JAX decided.
    release: whose Shardy and XLA it is taken to.
    """

    is_compiled: bool
    because: str = ""
    is_past_steps: bool = False
    is_by_jax: bool = False
    release: Release = field(default_factory=current)

    def remark(self, ways_out: WaysOut = IN_PYTHON) -> str:
        """Returns how the program is taken, why, and what takes it the other way; "" if it was asked for."""
        if not self.because:
            return ""
        if not self.is_compiled:
            other = f"{ways_out.as_compiled} takes it as {self.release} compiles it"
            return f"taken as written: {self.because}; {other}"
        past = ", and it is propagated already, so XLA's steps before are left out" * self.is_past_steps
        other = f"{ways_out.as_written} takes it as written"
        return f"taken as {self.release} compiles it: {self.because}{past}; {other}"


def how_taken(module: ModuleOp, as_compiled: bool | None = None) -> Taken:
    """Returns how a module is taken: as the caller says, or for None by the rule. It does not change."""
    if as_compiled is not None:
        return Taken(as_compiled)
    if MARK in module.attributes:
        return Taken(True, f"the module has {MARK}")
    found = verdict(module)
    traces = " and ".join(found.traces)
    if found.is_jax:
        return Taken(True, traces, is_past_steps=_is_propagated(module), is_by_jax=True)
    if has_parameters_of_torch(module):
        return Taken(False, "arguments have the names of parameters, as those of PyTorch")
    return Taken(False, f"of JAX, only {traces}" if traces else "no trace of JAX")


def take(module: ModuleOp, as_compiled: bool | None = None) -> Taken:
    """Returns how a module is taken, after XLA's steps have changed it in place if they are to."""
    taken = how_taken(module, as_compiled)
    run_steps(module, taken)
    return taken


def run_steps(module: ModuleOp, taken: Taken) -> None:
    """Changes a module in place by XLA's steps, if it is taken so and is not past them."""
    if taken.is_compiled and not taken.is_past_steps and MARK not in module.attributes:
        run_passes(module, before_propagation_passes(), verify="never")
        module.attributes[MARK] = UnitAttr()


def _is_propagated(module: ModuleOp) -> bool:
    """True if ops have shardings, as propagation leaves them."""
    return any(
        SHARDING in op.attributes and op.name.startswith("stablehlo.") and op.name not in _SHARDED_BY_JAX
        for op in walk_pre_order(module)
    )
