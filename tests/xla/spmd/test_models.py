"""Plans of small JAX programs beside XLA; all of them: `python -m tests.xla.spmd.models`."""

from __future__ import annotations

import pytest

from tests.xla.spmd.models import comparisons

NAMES = (
    *("mlp_train_data_32", "mlp_train_fsdp_tensor_32", "mlp_columns_4096", "block_train_tensor"),
    *("block_scan_fsdp", "block_sequence", "cnn_train_rows", "cnn_train_features", "depthwise"),
    *("adam_zero", "lstm", "decode", "experts", "rotary_last", "argmax", "newton", "branches", "ring"),
    *("order", "cholesky", "rolled", "rolled_far"),
)


OTHERS = {
    "flax": ("language_clip_fsdp_8", "unet_fsdp_1_8", "llama_both_1_4x2"),
    "equinox": ("encoder_fsdp", "stacked_fsdp_bfloat16_adamw"),
    "parallel": ("dlrm_train_1", "unique_counts", "moe_train_2x4_3", "ring_attention", "beam_3"),
}


@pytest.mark.parametrize("set_", OTHERS)
def test_models_of_libraries_send_what_xla_sends(set_: str) -> None:
    for library in {"flax": ("flax", "optax"), "equinox": ("equinox", "optax")}.get(set_, ("optax",)):
        pytest.importorskip(library)
    found = comparisons(OTHERS[set_], propagates=True, set_=set_)
    assert found == dict.fromkeys(found, "equal")
    assert sorted(found) == sorted(OTHERS[set_])


@pytest.mark.parametrize(
    "propagates",
    [pytest.param(False, marks=pytest.mark.slow, id="of XLA's shardings"), pytest.param(True, id="of ours")],
)
def test_programs_of_jax_send_what_xla_sends(propagates: bool) -> None:
    found = comparisons(NAMES, propagates=propagates)
    assert sorted(found) == sorted(NAMES)
    assert {name: text for name, text in found.items() if text != "equal"} == {}
