"""Shape text beside XLA's own reader and printer, as parameters of modules; without jaxlib: skipped.

XLA ends its process on some texts (`T(-1)`, `L(0)`, `token[3]`), so that it runs in one of its own; ending
counts as refusal. Where the two differ is listed in docs/design/layout.md.
"""

from __future__ import annotations

import importlib.util
import json
import random
import re
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings

from shardy_py.base.errors import ShardyError
from shardy_py.indexing.layout import ArrayShape, BufferShape, Layout, Shape, TupleShape, parse_shape
from tests.indexing.layout.strategies import shapes
from tests.indexing.layout.test_text import MISTAKES, UNCHANGED
from tests.with_jax import run_with_jax

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("jaxlib") is None or importlib.util.find_spec("jaxlib._hlo") is None,
    reason="jaxlib with _hlo (extra: reference) is not installed",
)

WORKER = r"""
import json, sys
from jaxlib import _hlo
for line in sys.stdin:
    text = json.loads(line)
    module = "HloModule m\nENTRY e {\n  ROOT p = %s parameter(0)\n}\n" % text
    try:
        lines = _hlo.hlo_module_from_text(module).to_string().split(" parameter(0)")[0].splitlines()
        printed = lines[-1].split(" = ", 1)[1]
    except Exception:
        printed = None
    print(json.dumps(printed), flush=True)
"""


def of_xla(texts: list[str]) -> list[str | None]:
    """What XLA prints of each shape; None if it refuses it."""
    found: list[str | None] = []
    while len(found) < len(texts):
        lines = "\n".join(map(json.dumps, texts[len(found) :]))
        run = run_with_jax(["-c", WORKER], lines.encode())
        answers = [json.loads(line) for line in run.stdout.splitlines()]
        found += answers
        if len(found) < len(texts):
            assert run.returncode < 0, run.stderr.decode()
            found.append(None)
    return [answer and re.sub(r"/\*index=\d+\*/", "", answer) for answer in found]


def with_layouts(shape: Shape) -> Shape:
    """As XLA's reader leaves it: arrays without a layout get the row-major one."""
    match shape:
        case TupleShape(elements):
            return TupleShape(tuple(map(with_layouts, elements)))
        case BufferShape(element):
            inner = with_layouts(element)
            assert isinstance(inner, ArrayShape)
            return BufferShape(inner)
        case ArrayShape(_, dimensions, _, None) if dimensions:
            return replace(shape, layout=Layout(tuple(reversed(range(len(dimensions))))))
        case _:
            return shape


def of_ours(text: str) -> str | None:
    try:
        return str(with_layouts(parse_shape(text)))
    except ShardyError:
        return None


SPARSE = re.compile(r"[:(]?[DP]\(")
FORGIVEN = [
    *("f32[3]{0:T(2,2}", "f32[3]{0:T}", "f32[3]{0:#(f32)}", "f32[3]{0:D(D+)}", "f32[3]{0:D(D,C)}"),
    "f32[3]{0:M(}",
]
"""What XLA counts as mistakes, and then takes."""


def test_what_is_kept() -> None:
    texts = [text for text in UNCHANGED if not SPARSE.search(text)]
    assert len(texts) > 25
    for text, printed in zip(texts, of_xla(texts), strict=True):
        assert of_ours(text) == printed, text


def test_sparse_layouts_are_kept_where_xla_drops_or_refuses_them() -> None:
    assert of_xla(["f32[3,5]{1,0:D(D,C)}", "f32[3,5]{1,0:P(f32[3])}"]) == ["f32[3,5]{1,0}", None]
    assert of_ours("f32[3,5]{1,0:D(D,C)}") == "f32[3,5]{1,0:D(D,C)}"
    assert of_ours("f32[3,5]{1,0:P(f32[3])}") is None


def test_what_is_refused() -> None:
    # XLA's text is followed by the rest of an instruction
    texts = [text for text, _ in MISTAKES if text and "unclosed" not in text]
    taken = {text for text, printed in zip(texts, of_xla(texts), strict=True) if printed is not None}
    assert taken == set(FORGIVEN)


def test_random_shapes() -> None:
    """Two hundred shapes, printed by us, read and printed by XLA."""
    texts: list[str] = []

    @settings(max_examples=200, database=None, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(shapes(sparse=False))
    def collect(shape: Shape) -> None:
        texts.append(str(shape))

    collect()
    assert len(texts) >= 150
    for text, printed in zip(texts, of_xla(texts), strict=True):
        assert of_ours(text) == printed, text


PARTS = ("#(u32)", "*(u32)", "T(2)", "T()", "T(2,0)", "T(*)", "L(4)", "S(-4)", "E(-4)", "E(64)", "M(4)")
SPLITS = ("", "0", "1", "2", "3", "-1", "1,2", "2,1", "1,1", "1)(0:2")
TUPLES = [
    *(f"f32[3]{{0:{part}}}" for part in PARTS),
    *(f"f32[3]{{0:SC(0:{split})}}" for split in SPLITS),
    *(f"f32[3,4]{{0,1:SC({at}:1)}}" for at in (-1, 0, 1, 2)),
    *(
        f"f32[100,4]{{{order}:SC({at}:{split})}}"
        for order in ("0,1", "1,0")
        for at in (0, 1)
        for split in (3, 5)
    ),
    *(f"f32[3,4]{{{order}}}" for order in ("1,1", "0,2", "-1,0", "0,1")),
    *("f32[2305843009213693951]", "f32[2305843009213693952]", "f32[2,4611686018427387904]"),
    *("s4[9223372036854775807]", "u1[9223372036854775807,0]", "u1[9223372036854775807,2,0]"),
    *("c128[576460752303423487]", "c128[576460752303423488]", "pred[9223372036854775807]", "f32[?,3]"),
    *("f32[?,9223372036854775807,2]", "f32[<=9223372036854775807]", "f32[0]{0:SC(0:1)}"),
]
"""Arrays that XLA takes alone, and in tuples only where they are right."""


def test_elements_of_tuples() -> None:
    texts = [text for a in TUPLES for text in (a, f"({a})", f"((s32[], {a}))", f"(b({a}))")]
    found = of_xla(texts)
    for text, printed in zip(texts, found, strict=True):
        assert of_ours(text) == printed, text
    assert len(texts) // 4 < sum(printed is None for printed in found) < len(texts) // 2


SEEDS = [
    "f32[3,<=5]{1,0:T(2,*)(4,1)L(8)#(u32)*(u16)E(16)S(3)SC(0:1,2)M(4)}",
    "(bf16[2]{0:T(128)(2,1)}, token[], b(s4[?,3]{0,1}))",
    "f32[]{:T(128)S(1)}",
]
ALPHABET = "0123456789[]{}(),:<=?*#-+ TLESCMDfsub"


def damaged(seed: int) -> str:
    """A shape with one or two characters lost, doubled or replaced."""
    chance = random.Random(seed)
    text = chance.choice(SEEDS)
    for _ in range(chance.randint(1, 2)):
        at = chance.randrange(len(text))
        text = text[:at] + chance.choice(("", text[at] * 2, chance.choice(ALPHABET))) + text[at + 1 :]
    return text


def test_damaged_text() -> None:
    """What we take XLA takes and prints alike; what only XLA takes broke off inside the parts of a layout."""
    texts = [damaged(seed) for seed in range(500)]
    taken = 0
    for text, printed in zip(texts, of_xla(texts), strict=True):
        ours = of_ours(text)
        taken += ours is not None
        if SPARSE.search(text):
            continue
        if ours is None and printed is not None:
            with pytest.raises(ShardyError) as error:
                parse_shape(text)
            position = error.value.diagnostics[0].where
            assert position
            before = text[: position.column - 1]
            assert ":" in before[before.rfind("{") :], text
        else:
            assert ours == printed, text
    assert taken > 50
