"""Plans of small JAX programs beside XLA; all of them: `python -m tests.spmd.models`."""

from __future__ import annotations

import pytest

from tests.spmd.models import comparisons

NAMES = (
    *("mlp_train_data_32", "mlp_train_fsdp_tensor_32", "mlp_columns_4096", "block_train_tensor"),
    *("block_scan_fsdp", "block_sequence", "cnn_train_rows", "cnn_train_features", "depthwise"),
    *("adam_zero", "lstm", "decode", "experts", "rotary_last", "argmax", "newton", "branches", "ring"),
    *("order", "cholesky", "rolled", "rolled_far"),
)


@pytest.mark.parametrize("propagates", [False, True], ids=["of XLA's shardings", "of ours"])
def test_programs_of_jax_send_what_xla_sends(propagates: bool) -> None:
    found = comparisons(NAMES, propagates=propagates)
    assert sorted(found) == sorted(NAMES)
    assert {name: text for name, text in found.items() if text != "equal"} == {}
