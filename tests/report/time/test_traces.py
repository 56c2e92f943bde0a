"""Traces: the JSON of Chrome, and Chakra's messages, decoded by the package protobuf."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from shardy_py import Program, propagate
from shardy_py.base.errors import ShardyError
from shardy_py.report.time import TimeReport
from shardy_py.report.time.trace import timeline
from shardy_py.report.time.unrolled import unrolled

LAYERS = """
sdy.mesh @mesh = <["data"=2, "model"=4]>
func.func @main(%x: tensor<512x1024xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {"model"}]>},
                %w: tensor<1024x1024xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {}]>})
    -> (tensor<512x1024xbf16>, tensor<512x1024xbf16>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0:3 = stablehlo.while(%i = %zero, %carry = %x, %v = %w)
      : tensor<i32>, tensor<512x1024xbf16>, tensor<1024x1024xbf16>
    cond {
      %n = stablehlo.constant dense<3> : tensor<i32>
      %1 = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %1 = stablehlo.add %i, %one : tensor<i32>
      %2 = stablehlo.dot_general %carry, %v, contracting_dims = [1] x [0]
          : (tensor<512x1024xbf16>, tensor<1024x1024xbf16>) -> tensor<512x1024xbf16>
      stablehlo.return %1, %2, %v : tensor<i32>, tensor<512x1024xbf16>, tensor<1024x1024xbf16>
    }
  %3 = stablehlo.slice %x [0:512, 128:1024] : (tensor<512x1024xbf16>) -> tensor<512x896xbf16>
  %4 = stablehlo.slice %x [0:512, 0:128] : (tensor<512x1024xbf16>) -> tensor<512x128xbf16>
  %5 = stablehlo.concatenate %3, %4, dim = 1
      : (tensor<512x896xbf16>, tensor<512x128xbf16>) -> tensor<512x1024xbf16>
  %6 = stablehlo.add %5, %x : tensor<512x1024xbf16>
  return %0#1, %6 : tensor<512x1024xbf16>, tensor<512x1024xbf16>
}
"""


@pytest.fixture(scope="module")
def report() -> TimeReport:
    return propagate(Program.parse(LAYERS)).time("tpu-v5e")


def test_runs_wait_for_those_they_need_and_for_their_track(report: TimeReport) -> None:
    runs = timeline(unrolled(report.block))
    assert sum(run.node.name == "stablehlo.dot_general" for run in runs) == 3
    ends: dict[str, float] = {}
    for run in runs:
        assert all(runs[before].end <= run.start for before in run.after)
        if run.node.seconds:
            assert run.start >= ends.get(run.track, 0.0)
            ends[run.track] = run.end
    length = max(run.end for run in runs)
    assert report.overlapped <= length * (1 + 1e-9)
    assert length <= report.serial * (1 + 1e-9)


def test_the_trace_of_chrome(report: TimeReport, tmp_path: Path) -> None:
    path = tmp_path / "step.json"
    report.trace(path)
    data = json.loads(path.read_text())
    tracks = {e["tid"]: e["args"]["name"] for e in data["traceEvents"] if e["name"] == "thread_name"}
    events = [event for event in data["traceEvents"] if event["ph"] == "X"]
    assert {tracks[event["tid"]] for event in events} == {*tracks.values()}
    assert "computation" in tracks.values()
    dots = [event for event in events if event["name"] == "stablehlo.dot_general"]
    assert [dot["args"]["flops"] for dot in dots] == [dots[0]["args"]["flops"]] * 3
    assert sum(event["dur"] for event in events) == pytest.approx(report.serial * 1e6)
    starts = {e["id"]: e["ts"] for e in data["traceEvents"] if e["ph"] == "s"}
    ends = {e["id"]: e["ts"] for e in data["traceEvents"] if e["ph"] == "f"}
    assert starts.keys() == ends.keys()


def test_a_file_that_cannot_be_written(report: TimeReport, tmp_path: Path) -> None:
    with pytest.raises(ShardyError, match="cannot write"):
        report.trace(tmp_path / "none" / "step.json")


def _messages() -> tuple[Any, Any]:
    """The classes of GlobalMetadata and Node, made from a description of Chakra's schema."""
    descriptor_pb2 = pytest.importorskip("google.protobuf.descriptor_pb2")
    from google.protobuf import descriptor_pool, message_factory

    file = descriptor_pb2.FileDescriptorProto(name="et_def.proto", package="ChakraProtoMsg", syntax="proto3")
    kinds = descriptor_pb2.FieldDescriptorProto

    def message(name: str, *fields: tuple[str, int, Any, bool, str]) -> Any:
        made = file.message_type.add(name=name)
        for field, number, kind, is_repeated, type_name in fields:
            label = kinds.LABEL_REPEATED if is_repeated else kinds.LABEL_OPTIONAL
            made.field.add(name=field, number=number, type=kind, label=label, type_name=type_name or None)
        return made

    message("BoolList", ("values", 1, kinds.TYPE_BOOL, True, ""))
    attribute = message(
        "AttributeProto",
        ("name", 1, kinds.TYPE_STRING, False, ""),
        ("int32_val", 7, kinds.TYPE_INT32, False, ""),
        ("int64_val", 9, kinds.TYPE_INT64, False, ""),
        ("uint64_val", 13, kinds.TYPE_UINT64, False, ""),
        ("bool_val", 27, kinds.TYPE_BOOL, False, ""),
        ("bool_list", 28, kinds.TYPE_MESSAGE, False, ".ChakraProtoMsg.BoolList"),
        ("string_val", 29, kinds.TYPE_STRING, False, ""),
    )
    attribute.oneof_decl.add(name="value")
    for field in attribute.field[1:]:
        field.oneof_index = 0
    message("GlobalMetadata", ("version", 1, kinds.TYPE_STRING, False, ""))
    message(
        "Node",
        ("id", 1, kinds.TYPE_UINT64, False, ""),
        ("name", 2, kinds.TYPE_STRING, False, ""),
        ("type", 3, kinds.TYPE_INT32, False, ""),
        ("ctrl_deps", 4, kinds.TYPE_UINT64, True, ""),
        ("data_deps", 5, kinds.TYPE_UINT64, True, ""),
        ("duration_micros", 7, kinds.TYPE_UINT64, False, ""),
        ("attr", 10, kinds.TYPE_MESSAGE, True, ".ChakraProtoMsg.AttributeProto"),
    )
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    names = (f"ChakraProtoMsg.{name}" for name in ("GlobalMetadata", "Node"))
    first, second = (message_factory.GetMessageClass(pool.FindMessageTypeByName(name)) for name in names)
    return first, second


def _decoded(data: bytes) -> tuple[Any, list[Any]]:
    decoder = pytest.importorskip("google.protobuf.internal.decoder")

    metadata, node = _messages()
    parts: list[bytes] = []
    offset = 0
    while offset < len(data):
        size, offset = decoder._DecodeVarint32(data, offset)
        parts.append(data[offset : offset + size])
        offset += size
    return metadata.FromString(parts[0]), [node.FromString(part) for part in parts[1:]]


def _attributes(node: Any) -> dict[str, Any]:
    return {each.name: getattr(each, each.WhichOneof("value")) for each in node.attr}


@pytest.fixture(scope="module")
def files(report: TimeReport, tmp_path_factory: pytest.TempPathFactory) -> Sequence[Path]:
    return report.chakra(tmp_path_factory.mktemp("chakra"))


def test_chakra_has_a_trace_for_each_device(files: Sequence[Path]) -> None:
    assert [file.name for file in files] == [*(f"step.{i}.et" for i in range(8)), "comm_groups.json"]
    for file in files[:-1]:
        metadata, nodes = _decoded(file.read_bytes())
        assert metadata.version == "0.0.4"
        seen: set[int] = set()
        for node in nodes:
            assert node.id not in seen
            assert seen.issuperset(node.data_deps)
            seen.add(node.id)


def test_nodes_of_chakra_say_what_they_compute_and_send(files: Sequence[Path], report: TimeReport) -> None:
    _, nodes = _decoded(files[0].read_bytes())
    dots = [_attributes(node) for node in nodes if node.name == "stablehlo.dot_general"]
    assert len(dots) == 3
    assert all(dot["num_ops"] == 2 * 256 * 256 * 1024 and not dot["is_cpu_op"] for dot in dots)
    sums = [node for node in nodes if node.type == 7 and _attributes(node)["comm_type"] in (0, 7)]
    assert len(sums) >= 3
    for node in sums:
        values = _attributes(node)
        assert list(values["involved_dim"].values) == [True, False]  # "model" is the last axis of the mesh
        assert values["comm_size"] in (256 * 1024 * 2, 256 * 256 * 2)
    total = sum(node.duration_micros for node in nodes if node.type != 6)
    assert total == pytest.approx(report.serial * 1e6, abs=len(nodes))


def test_permutes_are_sends_and_receives_that_match(files: Sequence[Path]) -> None:
    sent: set[tuple[int, int, int]] = set()
    received: set[tuple[int, int, int]] = set()
    for device, file in enumerate(files[:-1]):
        for node in _decoded(file.read_bytes())[1]:
            if node.type in (5, 6):
                values = _attributes(node)
                ends = values["comm_src"], values["comm_dst"], values["comm_tag"]
                (sent if node.type == 5 else received).add(ends)
                assert device == ends[node.type - 5]
    assert sent == received
    assert sent
