"""True if JAX wrote a program, by the traces that its lowering leaves: then XLA is what compiles it.

A program goes through tools that rename modules and drop attributes, so that no single trace is relied on.
Not here: what follows from it (`taken.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from xdsl.dialects.builtin import ModuleOp, StringAttr

from shardy_py.base.patterns import on_use
from shardy_py.base.records import dataclass
from shardy_py.mlir.dialects.sdy import MeshOp
from shardy_py.mlir.dialects.stablehlo import CustomCallOp
from shardy_py.mlir.ir import find_ops, walk_pre_order
from shardy_py.mlir.location_names import name_in
from shardy_py.mlir.module_paths import is_parameter
from shardy_py.mlir.symbols import functions_of
from shardy_py.mlir.typed import dictionaries_of

_COUNTS = ("mhlo.num_partitions", "mhlo.num_replicas")
_MESH = "stablehlo.mesh"
_HLO = "mhlo.use_auto_spmd_partitioning"
"""The attribute of modules that are made of HLO."""
_LABELS = ("jax.result_info", "tf.aliasing_output")
"""The importer of PyTorch writes these, too."""
_OF_PJRT = ("mhlo.memory_kind", "mhlo.layout_mode")
_OF_XLA = ("mhlo.sharding", "mhlo.frontend_attributes")
_NAMES = on_use(r"(jit|pmap)_")
_NAME_STACK = on_use(r"(jit|pjit|pmap)\(")
_CALLED = on_use(
    r"(Sharding|SPMD(FullToShard|ShardToFull)Shape|CustomSPMDPartitioning|annotate_device_placement"
    r"|shape_assertion|xla\.sdy\..*|xla_(ffi_)?(partitioned_)?python_.*)\Z"
)
_LOCATIONS = 1_000
"""Ops whose locations are read: JAX gives a stack of names to each."""


@dataclass(frozen=True, slots=True)
class JaxTrace:
    """A kind of trace of JAX.

    find: returns the trace in a module in words, "" if there is none.
    is_enough: whether it decides alone, as no program that XLA does not compile has it; of others, it takes
        two kinds.
    """

    find: Callable[[ModuleOp], str]
    is_enough: bool


def _module_name(module: ModuleOp) -> str:
    name = module.sym_name
    found = name is not None and _NAMES.match(name.data)
    return f"the module is named @{name.data}" if name is not None and found else ""


def _both_counts(module: ModuleOp) -> str:
    has_both = all(count in module.attributes for count in _COUNTS)
    return f"the module has {' and '.join(_COUNTS)}" if has_both else ""


def _of_hlo(module: ModuleOp) -> str:
    return f"the module has {_HLO}, as those of HLO" if _HLO in module.attributes else ""


def _one_count(module: ModuleOp) -> str:
    return next((f"the module has {count}" for count in _COUNTS if count in module.attributes), "")


def _own_attributes(module: ModuleOp) -> str:
    for where, key in _attribute_names(module):
        if key in _OF_PJRT or (key.startswith("jax.") and key not in _LABELS):
            return f"{where} has {key}"
    return ""


def _labels(module: ModuleOp) -> str:
    return _one_of(module, _LABELS)


def _attributes_of_xla(module: ModuleOp) -> str:
    return _one_of(module, _OF_XLA)


def _one_of(module: ModuleOp, names: Sequence[str]) -> str:
    return next((f"{where} has {key}" for where, key in _attribute_names(module) if key in names), "")


def _calls(module: ModuleOp) -> str:
    for op in find_ops(module, CustomCallOp.name):
        target = op.properties.get("call_target_name")
        if isinstance(target, StringAttr) and _CALLED.match(target.data):
            return f"it calls @{target.data}"
    return ""


def _name_stacks(module: ModuleOp) -> str:
    for op in islice(walk_pre_order(module), _LOCATIONS):
        name = name_in(op.location)
        if _NAME_STACK.match(name):
            return f"an op is located at {name}"
    return ""


def _meshes(module: ModuleOp) -> str:
    has_any = any(_MESH in op.attributes for op in find_ops(module, MeshOp.name))
    return f"a mesh has {_MESH}" if has_any else ""


TRACES: tuple[JaxTrace, ...] = (
    JaxTrace(_module_name, is_enough=True),
    JaxTrace(_both_counts, is_enough=True),
    JaxTrace(_of_hlo, is_enough=True),
    JaxTrace(_own_attributes, is_enough=True),
    JaxTrace(_calls, is_enough=True),
    JaxTrace(_name_stacks, is_enough=True),
    JaxTrace(_one_count, is_enough=False),
    JaxTrace(_labels, is_enough=False),
    JaxTrace(_attributes_of_xla, is_enough=False),
    JaxTrace(_meshes, is_enough=False),
)
"""All kinds, in the order in which they are looked for."""


@dataclass(frozen=True, slots=True)
class TracesOfJax:
    """True if JAX wrote a program, and the traces that were looked at, in words."""

    is_jax: bool
    traces: tuple[str, ...] = ()


def verdict(module: ModuleOp) -> TracesOfJax:
    """Returns whether JAX lowered the module, with the traces that decide: one that is enough, or two."""
    found: list[str] = []
    for trace in TRACES:
        words = trace.find(module)
        if words and trace.is_enough:
            return TracesOfJax(True, (words,))
        if words:
            found.append(words)
        if len(found) == 2:
            return TracesOfJax(True, tuple(found))
    return TracesOfJax(False, tuple(found))


def is_written_by_jax(module: ModuleOp) -> bool:
    """Returns whether JAX lowered the module."""
    return verdict(module).is_jax


def has_parameters_of_torch(module: ModuleOp) -> bool:
    """Returns whether arguments have the names of weights or biases of a module of torch."""
    blocks = (block for function in functions_of(module) for block in function.body.blocks)
    return any(is_parameter(name_in(argument.location)) for block in blocks for argument in block.args)


def _attribute_names(module: ModuleOp) -> Iterator[tuple[str, str]]:
    """The names of attributes of the module, and of all arguments and results of its functions."""
    yield from (("the module", key) for key in module.attributes)
    for function in functions_of(module):
        for where, name in (("an argument", "arg_attrs"), ("a result", "res_attrs")):
            for entry in dictionaries_of(function, name):
                yield from ((where, key) for key in entry.data)
