"""The shardings of a plan as partition rules of flax.

    rules = ((r"params\\['layers_\\d+'\\]\\['up'\\]", P(None, 'model')), ...)

Not here: code for JAX (`code.py`), which has all that a plan says; calls of PyTorch (`torch_code.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from shardy_py.search.suggest.code import Code, Row, mesh_lines, spec_text

_RULES = r'''
def partition_specs(rules, **trees):
    """Returns trees with the spec of each leaf: that of the first rule that matches its path, else P()."""

    def spec(name, path):
        key = name + jax.tree_util.keystr(path)
        return next((own for pattern, own in rules if re.fullmatch(pattern, key)), P())

    with_path = jax.tree_util.tree_map_with_path
    return tuple(with_path(lambda path, _: spec(name, path), tree) for name, tree in trees.items())


# Of linen's variables, or of nnx.state(model), under the name that the argument of the step has:
# (specs,) = partition_specs(rules, {name}={name})
# shardings = jax.tree.map(lambda spec: NamedSharding(mesh, spec), specs)'''


def flax_lines(code: Code) -> Iterator[str]:
    """Returns rules for flax: a pattern of paths with the spec of what it matches, the most special first."""
    yield "import re"
    yield ""
    yield from mesh_lines(code)
    yield "rules = ("
    grouped: dict[str, list[Row]] = {}
    for row in code.arguments:
        grouped.setdefault(row.path or row.label or row.name, []).append(row)
    for path, rows in grouped.items():
        alike = len({row.spec for row in rows}) == 1
        patterns = [(_pattern(path), rows[0].spec)] if alike else [(re.escape(r.label), r.spec) for r in rows]
        yield from (f"    ({_raw(pattern)}, {spec_text(spec)})," for pattern, spec in patterns)
    yield ")"
    names = [re.split(r"[\[.]", row.label or row.name)[0] for row in code.arguments]
    yield from _RULES.replace("{name}", next(iter(names), "params")).split("\n")
    yield from _constrained(code)


def _pattern(path: str) -> str:
    return re.escape(path).replace(r"\*", r"\d+")


def _raw(pattern: str) -> str:
    return repr(pattern) if '"' in pattern else f'r"{pattern}"'


def _constrained(code: Code) -> Iterable[str]:
    count = sum(len(each.values) for each in (*code.constraints, *(own for own, _ in code.changed)))
    return [f"# and {count} constraints on values inside, which the code for JAX lists"] if count else []
