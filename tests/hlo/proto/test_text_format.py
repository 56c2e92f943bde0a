"""Protocol buffers as text are those of their bytes."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from shardy_py import Program, ShardyError
from shardy_py.hlo.proto import encoded_module

DATA = Path(__file__).parent / "data"
SMALL = 'name: "m" computations { name: "e" id: 1 root_id: 2 instructions { %s } } entry_computation_id: 1'
CONSTANT = """id: 2 name: 'c' opcode: "cons" 'tant' shape: < element_type: F32 dimensions: [2] >
  literal { shape { element_type: 11, dimensions: 2; } f32s: [1.5f, -inf]
  [a.b/c] { x: 1 } sparse_indices: 0x7 }
  unknown { deeper: - 5 list: [{ a: "}" }, {}] }  # a comment
"""


def test_text_is_the_program_of_its_bytes() -> None:
    """The text is what Google's library prints of the bytes, with the descriptors of jaxlib 0.12."""
    texts = [str(Program.load(DATA / name, imported=False)) for name in ("scan.hlo.pb", "scan.pbtxt")]
    assert texts[0] == texts[1]
    assert "chlo.scan" in texts[1]
    assert "devices=[4,1,2]<=[8]" in texts[1]


def test_spellings() -> None:
    text = SMALL % CONSTANT
    assert struct.pack("<2f", 1.5, float("-inf")) in b"".join(encoded_module(text, "-").split(b"\x45"))
    program = str(Program.parse(f"hlo {{ hlo_module {{ {text} }} }}"))
    assert "dense<[1.500000e+00, 0xFF800000]>" in program
    assert program == str(Program.parse(f"# made by hand\nhlo_module: {{ {text} }}"))


def test_a_literal_has_as_many_elements_as_its_constant() -> None:
    text = SMALL % CONSTANT.replace("dimensions: [2] >", "dimensions: [1] >")
    with pytest.raises(ShardyError, match=r"literal: expected 4 bytes, elements of f32\[1\].*, got 8"):
        Program.parse(f"hlo {{ hlo_module {{ {text} }} }}")


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ("id: two", "<program>:1:72: error: protocol buffer as text: 'id': expected int, got 'two'"),
        ("id 2", "expected ':', got '2'"),
        ("id: 99999999999999999999999", "'id': expected int, got '9999"),
        ('name: "a', "expected a value, got '\"'"),
        ("shape { element_type: F33 }", "'element_type': expected int, got 'F33'"),
        ("sharding " + "{ tuple_shardings " * 200, "nesting exceeds 100 levels"),
        ('name: - "a"', "expected a number, got '\"a\"'"),
        ("[a.b", "the name of an extension has no end"),
    ],
)
def test_errors_have_their_place(field: str, message: str) -> None:
    with pytest.raises(ShardyError) as caught:
        Program.parse(SMALL % field)
    assert message in str(caught.value)
