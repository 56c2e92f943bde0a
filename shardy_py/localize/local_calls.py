"""Ops whose bodies are elsewhere, on the parts that devices hold: calls, and computations by shard."""

from __future__ import annotations

from shardy_py.base.errors import ShardyError
from shardy_py.localize.localizer import Localizer, Site, forget_sharding
from shardy_py.mlir import ir
from shardy_py.mlir.holders import attribute_list_shardings
from shardy_py.mlir.movements import is_recording, note_copies
from shardy_py.reshard.compare import is_equivalent


def call(local: Localizer, site: Site) -> None:
    """Checks that operands and results have the shardings with which the callee became local; forgets them.

    Raises ShardyError if one differs.
    """
    function = local.symbols.callee(site.op)
    for name, kind, wholes in (
        ("arg_attrs", "operand", site.operands),
        ("res_attrs", "result", site.results),
    ):
        given = attribute_list_shardings(function.properties.get(name)) or (None,) * len(wholes)
        for index, (whole, sharding) in enumerate(zip(wholes, given, strict=True)):
            if not is_equivalent(whole.sharding, sharding):
                raise ShardyError.unexpected(
                    f"sharding of {kind} {index}",
                    expected=f"that of the function: {sharding or 'replicated'}",
                    got=str(whole.sharding or "replicated"),
                    remedy="run sdy-insert-func-call-reshards and sdy-insert-explicit-reshards before",
                )
    if not local.counts.is_narrow:
        forget_sharding(site.op)


def manual_computation(local: Localizer, site: Site) -> None:
    """Inlines the body: it is local along the manual axes, and by now along the others, too."""
    op, region = site.op, site.op.regions[0]
    end = ir.terminator_of(region)
    assert end is not None
    if is_recording():
        note_copies(dict(zip(region.blocks[0].args, site.values, strict=True)))
        note_copies(dict(zip(op.results, ir.operands_of(end), strict=True)))
    ir.inline_region(op, region, site.values)
