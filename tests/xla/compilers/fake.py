"""Interpreters that answer as one with a compiler does, without one."""

from __future__ import annotations

import json
from pathlib import Path

_START = (
    "  s = (f32[128,1024], f32[1024,1024]) all-gather-start(p), replica_groups={{0,1,2,3,4,5,6,7}}"
    ", dimensions={0}"
    ', metadata={op_name="jit(f)/dot" stack_frame_id=1}'
    ', backend_config={"collective_backend_config":{"is_sync":true}}'
)
HLO = """HloModule m

FileNames
1 "model.py"

FunctionNames
1 "step"

FileLocations
1 {file_name_id=1 function_name_id=1 line=7 end_line=7 column=8 end_column=8}

StackFrames
1 {file_location_id=1 parent_frame_id=1}


ENTRY main {
  p = f32[128,1024] parameter(0)
START
  ROOT g = f32[1024,1024] all-gather-done(s)
}
""".replace("START", _START)
MEMORY = {"argument": 2621440, "output": 524288, "alias": 0, "temp": 12583440}
ANSWER = {"hlo": HLO, "memory": MEMORY, "versions": {"jax": "0.10.2"}}
OUT_OF_MEMORY = """RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of memory in memory space hbm.
  Used 20.00G of 15.75G hbm.
  1. Size: 8.00G
     Operator: op_name="jit(f)/cos" source_file="/models/model.py" source_line=7
     Allocation type: HLO temp
"""


def interpreter(folder: Path, answer: object, *, request: Path | None = None) -> str:
    """The path of a program that gives this answer to any request; None: it fails without one."""
    answers, path = folder / "answer.json", folder / "python"
    answers.write_text(json.dumps(answer))
    copies = "" if answer is None else f'cp "{answers}" "$4"'
    keeps = "" if request is None else f'cp "$3" "{request}"'
    path.write_text(f"#!/bin/sh\n{keeps}\n{copies}\n[ -e \"$4\" ] || echo 'no such plugin' >&2\n")
    path.chmod(0o755)
    return str(path)
