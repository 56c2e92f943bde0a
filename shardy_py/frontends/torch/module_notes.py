"""Notes on the modules of weights, where they are out of the ordinary.

    %up {shardy_py.module_class = "model.Scaled"}     a class that styles of `parallelize_module` refuse
    %up {shardy_py.uncalled = ["layers.0"]}           a block whose `forward` is never called

Suggestions in the words of PyTorch need it: a style takes `nn.Linear` and `nn.Embedding` only, and hooks of
`fully_shard` run where the forward pass of a module is called.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import accumulate

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from shardy_py.frontends.torch.decompositions import all_nodes
from shardy_py.frontends.torch.protocols import Exported
from shardy_py.frontends.torch.styles import class_of, name_of_class, takes_styles
from shardy_py.mlir.location_names import name_in
from shardy_py.mlir.module_paths import MODULE_CLASS, UNCALLED, is_parameter
from shardy_py.mlir.plain import tensor_type
from shardy_py.mlir.typed import dictionaries_of

_WEIGHT = ".weight"
_MATRIX = 2


def note_modules(module: ModuleOp, called: Mapping[str, type | str]) -> None:
    """Notes the modules of weights among the arguments of a program. called: their classes by path."""
    function = next(op for op in module.body.block.ops if isinstance(op, FuncOp))
    arguments = function.body.block.args
    labels = [name_in(each.location) for each in arguments]
    matrices = {
        label.removesuffix(_WEIGHT)
        for label, argument in zip(labels, arguments, strict=True)
        if label.endswith(_WEIGHT) and _rank(argument.type) == _MATRIX
    }
    refused = {
        path: StringAttr(name_of_class(called[path]))
        for path in called.keys() & matrices
        if not takes_styles(class_of(called[path]))
    }
    own = [_notes(label, refused, called) for label in labels]
    if any(own):
        existing = dictionaries_of(function, "arg_attrs") or (DictionaryAttr({}),) * len(arguments)
        both = [DictionaryAttr({**old.data, **new}) for old, new in zip(existing, own, strict=True)]
        function.properties["arg_attrs"] = ArrayAttr(both)


def called_in(exported: Exported) -> dict[str, type | str]:
    """The classes of the modules that an exported model calls, by path."""
    found: dict[str, type | str] = {}
    for node in all_nodes(exported):
        stack: Mapping[str, tuple[str, type | str]] = node.meta.get("nn_module_stack") or {}
        found |= {path.partition("@")[0]: kind for path, kind in stack.values()}
    return found


def _notes(label: str, refused: Mapping[str, StringAttr], called: Collection[str]) -> dict[str, Attribute]:
    if not is_parameter(label):
        return {}
    path = label.rpartition(".")[0]
    found: dict[str, Attribute] = {MODULE_CLASS: refused[path]} if path in refused else {}
    around = [*accumulate(path.split("."), "{}.{}".format)]
    blocks = [each for each in around[:-1] if each.rpartition(".")[2].isdecimal() and each not in called]
    if blocks:
        uncalled = [each for each in around[around.index(blocks[0]) :] if each not in called]
        found[UNCALLED] = ArrayAttr([StringAttr(each) for each in uncalled])
    return found


def _rank(given: Attribute) -> int:
    type_ = tensor_type(given)
    return 0 if type_ is None else len(type_.shape)
