"""Models of Hugging Face transformers, from configurations with tiny sizes; nothing is downloaded."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from importlib import import_module
from typing import Any

import torch

from tests.frontends.survey.rows import Called, Row

WORDS = 96

LANGUAGE = {
    "vocab_size": WORDS,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
"""Sizes by the names that most configurations share."""

GROUPED = {**LANGUAGE, "num_key_value_heads": 2}
HEADS = {**GROUPED, "head_dim": 8}
EXPERTS = {**GROUPED, "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16}
WITH_WIDTH = {"vocab_size": WORDS, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64, "n_inner": 48}
TWO_STACKS = {
    "vocab_size": WORDS,
    "d_model": 32,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 48,
    "decoder_ffn_dim": 48,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "decoder_start_token_id": 1,
}
T5 = {"vocab_size": WORDS, "d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 2, "num_heads": 4}
IMAGE = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "image_size": 32,
    "patch_size": 8,
}
STAGES = {"hidden_sizes": [8, 16, 24, 32], "depths": [1, 1, 1, 1], "image_size": 64}
SOUND = {
    "vocab_size": 32,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "conv_dim": [16, 16, 16],
    "conv_stride": [5, 2, 2],
    "conv_kernel": [10, 3, 2],
    "num_feat_extract_layers": 3,
    "num_conv_pos_embeddings": 16,
    "num_conv_pos_embedding_groups": 4,
}


def words(length: int = 12, name: str = "input_ids") -> dict[str, Any]:
    return {name: torch.randint(3, WORDS, (2, length))}


def image(size: int = 32, channels: int = 3) -> dict[str, Any]:
    return {"pixel_values": torch.randn(2, channels, size, size)}


def video(frames: int, size: int = 32) -> dict[str, Any]:
    return {"pixel_values": torch.randn(1, frames, 3, size, size)}


def both_words() -> dict[str, Any]:
    return {**words(), **words(6, "decoder_input_ids")}


def masked() -> dict[str, Any]:
    """Tokens with a mask that reaches attention as it is."""
    return {**words(), "attention_mask": torch.arange(12).lt(torch.tensor([12, 9])[:, None])[:, None, None]}


def both_masked() -> dict[str, Any]:
    """Both sequences with the masks that these models do not make while they are exported."""
    return {
        **both_words(),
        "attention_mask": torch.ones(2, 12),
        "decoder_attention_mask": torch.ones(2, 6),
    }


def sound(length: int = 800) -> dict[str, Any]:
    return {"input_values": torch.randn(2, length)}


def image_and_words(size: int = 32) -> dict[str, Any]:
    return {**words(8), **image(size)}


def built(model: str, config: str, settings: Mapping[str, Any], inputs: Any) -> Called:
    """A model from its configuration: the classes by name, the settings, a function of the inputs."""
    transformers = import_module("transformers")
    found = getattr(transformers, config)(**settings)
    parts: tuple[Any, ...] = (found, getattr(found, "text_config", None), getattr(found, "decoder", None))
    for part in parts:
        if hasattr(part, "use_cache"):
            part.use_cache = False
    return getattr(transformers, model)(found), (), inputs()


def row(stem: str, kind: str, settings: Mapping[str, Any], inputs: Any, config: str = "") -> Row:
    name = config or f"{stem}Config"
    return Row(f"{stem}{kind}", "transformers", partial(built, f"{stem}{kind}", name, settings, inputs))


CAUSAL = [
    row(stem, "ForCausalLM", settings, words)
    for stem, settings in {
        "Llama": GROUPED,
        "Mistral": {**GROUPED, "sliding_window": 8},
        "Mixtral": {**GROUPED, "num_local_experts": 4, "num_experts_per_tok": 2},
        "Qwen2": GROUPED,
        "Qwen2Moe": {**EXPERTS, "shared_expert_intermediate_size": 16},
        "Qwen3": HEADS,
        "Qwen3Moe": {**EXPERTS, "head_dim": 8},
        "Gemma": HEADS,
        "Gemma2": {**HEADS, "sliding_window": 8},
        "Phi": LANGUAGE,
        "Phi3": {**GROUPED, "pad_token_id": 0},
        "Phimoe": {**GROUPED, "num_local_experts": 4},
        "Falcon": LANGUAGE,
        "Bloom": {"vocab_size": WORDS, "hidden_size": 32, "n_layer": 2, "n_head": 4},
        "OPT": {**LANGUAGE, "ffn_dim": 48, "word_embed_proj_dim": 32},
        "Mpt": {"vocab_size": WORDS, "d_model": 32, "n_layers": 2, "n_heads": 4, "max_seq_len": 64},
        "StableLm": GROUPED,
        "Olmo": GROUPED,
        "Olmo2": GROUPED,
        "Olmoe": {**GROUPED, "num_experts": 4, "num_experts_per_tok": 2},
        "Cohere": GROUPED,
        "Cohere2": {**HEADS, "sliding_window": 8},
        "Starcoder2": GROUPED,
        "GPTNeoX": LANGUAGE,
        "GPTNeo": {
            **LANGUAGE,
            "num_layers": 2,
            "num_heads": 4,
            "attention_types": [[["global", "local"], 1]],
        },
        "GPTJ": {**WITH_WIDTH, "rotary_dim": 4},
        "GPTBigCode": WITH_WIDTH,
        "CodeGen": {**WITH_WIDTH, "rotary_dim": 4, "n_ctx": 64},
        "Persimmon": LANGUAGE,
        "Granite": GROUPED,
        "GraniteMoe": {**GROUPED, "num_local_experts": 4, "num_experts_per_tok": 2},
        "Nemotron": GROUPED,
        "Glm": HEADS,
        "Glm4": HEADS,
        "SmolLM3": GROUPED,
        "Ernie4_5": HEADS,
        "Exaone4": {**HEADS, "sliding_window": 8},
        "Helium": HEADS,
        "Arcee": GROUPED,
        "DiffLlama": GROUPED,
        "BitNet": GROUPED,
        "GptOss": {**HEADS, "num_local_experts": 4, "num_experts_per_tok": 2, "sliding_window": 8},
        "DeepseekV2": {
            **LANGUAGE,
            "n_routed_experts": 4,
            "num_experts_per_tok": 2,
            "moe_intermediate_size": 16,
            "n_group": 1,
            "topk_group": 1,
            "q_lora_rank": 16,
            "kv_lora_rank": 16,
            "qk_rope_head_dim": 8,
            "qk_nope_head_dim": 8,
            "v_head_dim": 8,
            "first_k_dense_replace": 1,
        },
        "DeepseekV3": {
            **LANGUAGE,
            "n_routed_experts": 4,
            "num_experts_per_tok": 2,
            "moe_intermediate_size": 16,
            "n_group": 2,
            "topk_group": 1,
            "q_lora_rank": 16,
            "kv_lora_rank": 16,
            "qk_rope_head_dim": 8,
            "qk_nope_head_dim": 8,
            "v_head_dim": 8,
            "first_k_dense_replace": 1,
        },
        "Mamba": {"vocab_size": WORDS, "hidden_size": 16, "state_size": 4, "num_hidden_layers": 2},
        "Mamba2": {
            "vocab_size": WORDS,
            "hidden_size": 16,
            "state_size": 8,
            "num_hidden_layers": 2,
            "num_heads": 4,
            "head_dim": 8,
            "n_groups": 1,
            "chunk_size": 4,
        },
        "FalconMamba": {"vocab_size": WORDS, "hidden_size": 16, "state_size": 4, "num_hidden_layers": 2},
        "RecurrentGemma": {**HEADS, "lru_width": 32, "attention_window_size": 8, "num_hidden_layers": 3},
        "Jamba": {
            **GROUPED,
            "num_experts": 4,
            "num_experts_per_tok": 2,
            "mamba_d_state": 4,
            "use_mamba_kernels": False,
            "attn_layer_period": 2,
            "attn_layer_offset": 1,
            "expert_layer_period": 2,
            "expert_layer_offset": 1,
        },
        "Lfm2": {**GROUPED, "layer_types": ["conv", "full_attention"]},
        "XGLM": {"vocab_size": WORDS, "d_model": 32, "ffn_dim": 48, "num_layers": 2, "attention_heads": 4},
        "Dbrx": {
            "vocab_size": WORDS,
            "d_model": 32,
            "n_heads": 4,
            "n_layers": 2,
            "max_seq_len": 64,
            "ffn_config": {"ffn_hidden_size": 32, "moe_num_experts": 4, "moe_top_k": 2},
            "attn_config": {"kv_n_heads": 2, "clip_qkv": 8, "rope_theta": 10000.0},
        },
    }.items()
]
CAUSAL.append(row("Gemma3", "ForCausalLM", {**HEADS, "sliding_window": 8}, words, "Gemma3TextConfig"))

ENCODERS = [
    row(stem, kind, settings, words)
    for stem, kind, settings in [
        ("Bert", "ForMaskedLM", LANGUAGE),
        ("Roberta", "Model", LANGUAGE),
        ("XLMRoberta", "ForSequenceClassification", LANGUAGE),
        (
            "DistilBert",
            "Model",
            {"vocab_size": WORDS, "dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 48},
        ),
        ("Albert", "Model", {**LANGUAGE, "embedding_size": 16}),
        ("Electra", "Model", {**LANGUAGE, "embedding_size": 16}),
        ("Deberta", "Model", LANGUAGE),
        ("DebertaV2", "Model", {**LANGUAGE, "relative_attention": True, "pos_att_type": ["p2c", "c2p"]}),
        ("MPNet", "Model", LANGUAGE),
        ("FNet", "Model", LANGUAGE),
        ("BigBird", "Model", {**LANGUAGE, "attention_type": "original_full"}),
        ("Longformer", "Model", {**LANGUAGE, "attention_window": 4}),
        ("XLNet", "Model", {"vocab_size": WORDS, "d_model": 32, "n_layer": 2, "n_head": 4, "d_inner": 48}),
        ("XLM", "Model", {"vocab_size": WORDS, "emb_dim": 32, "n_layers": 2, "n_heads": 4}),
        ("ConvBert", "Model", {**LANGUAGE, "embedding_size": 32, "conv_kernel_size": 3}),
        ("SqueezeBert", "Model", {**LANGUAGE, "embedding_size": 32}),
        ("MobileBert", "Model", {**LANGUAGE, "embedding_size": 16, "intra_bottleneck_size": 16}),
        ("RoFormer", "Model", {**LANGUAGE, "embedding_size": 32}),
        ("RemBert", "Model", {**LANGUAGE, "input_embedding_size": 16}),
        ("ModernBert", "Model", {**LANGUAGE, "local_attention": 8, "cls_token_id": 1, "sep_token_id": 2}),
        ("MegatronBert", "Model", LANGUAGE),
        ("Esm", "Model", {**LANGUAGE, "position_embedding_type": "rotary", "mask_token_id": 3}),
        (
            "Funnel",
            "Model",
            {
                "vocab_size": WORDS,
                "d_model": 32,
                "n_head": 4,
                "d_head": 8,
                "d_inner": 48,
                "block_sizes": [1, 1],
                "num_decoder_layers": 1,
            },
        ),
        ("LayoutLM", "Model", LANGUAGE),
        ("Canine", "Model", {**LANGUAGE, "downsampling_rate": 2, "local_transformer_stride": 4}),
        ("IBert", "Model", LANGUAGE),
        ("Splinter", "Model", LANGUAGE),
        (
            "Perceiver",
            "ForMaskedLM",
            {
                "vocab_size": WORDS,
                "d_model": 16,
                "d_latents": 32,
                "num_latents": 4,
                "num_blocks": 1,
                "num_self_attends_per_block": 1,
                "num_self_attention_heads": 2,
                "num_cross_attention_heads": 2,
                "max_position_embeddings": 12,
                "qk_channels": 16,
                "v_channels": 32,
            },
        ),
    ]
]
ENCODERS.append(
    row("Nystromformer", "Model", {**LANGUAGE, "segment_means_seq_len": 12, "num_landmarks": 4}, masked)
)

TRANSLATORS = [
    row(stem, kind, settings, both_words)
    for stem, kind, settings in [
        ("T5", "ForConditionalGeneration", T5),
        ("MT5", "Model", T5),
        ("UMT5", "Model", T5),
        ("Bart", "ForConditionalGeneration", TWO_STACKS),
        ("MBart", "Model", TWO_STACKS),
        ("Pegasus", "Model", TWO_STACKS),
        ("Marian", "Model", {**TWO_STACKS, "decoder_vocab_size": WORDS}),
        ("M2M100", "Model", TWO_STACKS),
        ("Blenderbot", "Model", TWO_STACKS),
        ("LED", "Model", {**TWO_STACKS, "attention_window": 4}),
        (
            "ProphetNet",
            "Model",
            {
                "vocab_size": WORDS,
                "hidden_size": 32,
                "encoder_ffn_dim": 48,
                "num_encoder_layers": 1,
                "num_encoder_attention_heads": 4,
                "decoder_ffn_dim": 48,
                "num_decoder_layers": 1,
                "num_decoder_attention_heads": 4,
                "max_position_embeddings": 64,
            },
        ),
    ]
]
TRANSLATORS += [
    row("LongT5", "Model", {**T5, "local_radius": 4}, both_masked),
    row(
        "SwitchTransformers",
        "Model",
        {**T5, "num_experts": 4, "num_sparse_encoder_layers": 1, "num_sparse_decoder_layers": 1},
        both_masked,
    ),
]

PICTURES = [
    row("ViT", "ForImageClassification", IMAGE, image),
    row("DeiT", "Model", IMAGE, image),
    row("Beit", "Model", IMAGE, image),
    row("Dinov2", "Model", IMAGE, image),
    row("DINOv3ViT", "Model", {**IMAGE, "num_register_tokens": 2}, image),
    row("Data2VecVision", "Model", IMAGE, image),
    row("ViTMSN", "Model", IMAGE, image),
    row("Yolos", "ForObjectDetection", {**IMAGE, "image_size": [32, 32], "num_detection_tokens": 4}, image),
    row("SiglipVision", "Model", IMAGE, image),
    row("CLIPVision", "Model", IMAGE, image),
    row(
        "Swin",
        "Model",
        {
            "image_size": 32,
            "patch_size": 2,
            "embed_dim": 16,
            "depths": [1, 2],
            "num_heads": [2, 4],
            "window_size": 4,
        },
        image,
    ),
    row(
        "Swinv2",
        "Model",
        {
            "image_size": 32,
            "patch_size": 2,
            "embed_dim": 16,
            "depths": [1, 2],
            "num_heads": [2, 4],
            "window_size": 4,
        },
        image,
    ),
    row("ConvNext", "ForImageClassification", STAGES, partial(image, 64)),
    row("ConvNextV2", "Model", STAGES, partial(image, 64)),
    row("ResNet", "ForImageClassification", {**STAGES, "embedding_size": 8}, partial(image, 64)),
    row("RegNet", "Model", {**STAGES, "embedding_size": 8, "groups_width": 4}, partial(image, 64)),
    row("MobileNetV1", "Model", {"depth_multiplier": 0.25, "image_size": 64}, partial(image, 64)),
    row("MobileNetV2", "Model", {"depth_multiplier": 0.25, "image_size": 64}, partial(image, 64)),
    row(
        "MobileViT",
        "Model",
        {"hidden_sizes": [16, 24, 32], "neck_hidden_sizes": [8, 8, 16, 16, 24, 24, 32], "image_size": 64},
        partial(image, 64),
    ),
    row(
        "Segformer",
        "ForSemanticSegmentation",
        {"hidden_sizes": [8, 16, 24, 32], "depths": [1, 1, 1, 1], "decoder_hidden_size": 16},
        partial(image, 64),
    ),
    row("PoolFormer", "Model", STAGES, partial(image, 64)),
    row(
        "FocalNet",
        "Model",
        {
            "image_size": 32,
            "embed_dim": 16,
            "depths": [1, 1],
            "hidden_sizes": [16, 32],
            "focal_levels": [2, 2],
            "focal_windows": [3, 3],
        },
        image,
    ),
    row(
        "PvtV2",
        "Model",
        {
            "hidden_sizes": [8, 16, 24, 32],
            "depths": [1, 1, 1, 1],
            "num_attention_heads": [1, 2, 2, 4],
            "image_size": 64,
        },
        partial(image, 64),
    ),
    row(
        "Hiera",
        "Model",
        {"embed_dim": 8, "image_size": [64, 64], "depths": [1, 1, 1, 1], "num_heads": [1, 2, 4, 8]},
        partial(image, 64),
    ),
    row(
        "DPT",
        "ForDepthEstimation",
        {
            **IMAGE,
            "num_hidden_layers": 4,
            "backbone_out_indices": [0, 1, 2, 3],
            "neck_hidden_sizes": [8, 8, 8, 8],
            "fusion_hidden_size": 8,
        },
        image,
    ),
    row(
        "Cvt",
        "Model",
        {"embed_dim": [8, 16, 24], "depth": [1, 2, 3], "num_heads": [1, 2, 3]},
        partial(image, 64),
    ),
    row(
        "Levit",
        "Model",
        {
            "image_size": 64,
            "hidden_sizes": [16, 32, 48],
            "num_attention_heads": [2, 2, 2],
            "depths": [1, 1, 1],
            "key_dim": [8, 8, 8],
        },
        partial(image, 64),
    ),
    row(
        "SwiftFormer",
        "Model",
        {"image_size": 64, "embed_dims": [8, 16, 24, 32], "depths": [1, 1, 1, 1]},
        partial(image, 64),
    ),
    row("VideoMAE", "Model", {**IMAGE, "num_frames": 4, "tubelet_size": 2}, partial(video, 4)),
    row("Timesformer", "Model", {**IMAGE, "num_frames": 4}, partial(video, 4)),
    row("Vivit", "Model", {**IMAGE, "num_frames": 4, "tubelet_size": [2, 8, 8]}, partial(video, 4)),
]

SOUNDS = [
    row("Wav2Vec2", "ForCTC", SOUND, sound),
    row("Wav2Vec2Conformer", "Model", SOUND, sound),
    row("Hubert", "Model", SOUND, sound),
    row("WavLM", "Model", SOUND, sound),
    row("UniSpeechSat", "Model", SOUND, sound),
    row("SEW", "Model", {**SOUND, "squeeze_factor": 2}, sound),
    row("Data2VecAudio", "Model", SOUND, sound),
    row(
        "Whisper",
        "Model",
        {**TWO_STACKS, "num_mel_bins": 8, "max_source_positions": 16, "max_target_positions": 16},
        lambda: {"input_features": torch.randn(2, 8, 32), **words(6, "decoder_input_ids")},
    ),
    row(
        "Speech2Text",
        "Model",
        {
            **TWO_STACKS,
            "input_feat_per_channel": 8,
            "input_channels": 1,
            "conv_channels": 16,
            "max_source_positions": 64,
            "max_target_positions": 16,
        },
        lambda: {"input_features": torch.randn(2, 32, 8), **words(6, "decoder_input_ids")},
    ),
    row(
        "AST",
        "Model",
        {**IMAGE, "max_length": 32, "num_mel_bins": 16, "frequency_stride": 8, "time_stride": 8},
        lambda: {"input_values": torch.randn(2, 32, 16)},
    ),
    row(
        "Encodec",
        "Model",
        {
            "num_filters": 4,
            "hidden_size": 16,
            "codebook_size": 16,
            "upsampling_ratios": [4, 2],
            "num_lstm_layers": 1,
            "target_bandwidths": [24.0],
        },
        lambda: {"input_values": torch.randn(1, 1, 320)},
    ),
]

TEXT_PART = {key: size for key, size in LANGUAGE.items() if not key.endswith("token_id")}
VISION_PART = {**IMAGE, "projection_dim": 16}
PAIRS = [
    row(
        "CLIP",
        "Model",
        {
            "text_config": {**TEXT_PART, "eos_token_id": 2, "projection_dim": 16},
            "vision_config": VISION_PART,
            "projection_dim": 16,
        },
        image_and_words,
    ),
    row("Siglip", "Model", {"text_config": TEXT_PART, "vision_config": IMAGE}, image_and_words),
    row(
        "Blip",
        "ForImageTextRetrieval",
        {
            "text_config": {**TEXT_PART, "encoder_hidden_size": 32, "bos_token_id": 1, "sep_token_id": 2},
            "vision_config": IMAGE,
            "image_text_hidden_size": 16,
        },
        image_and_words,
    ),
    row("Vilt", "Model", {**LANGUAGE, **IMAGE, "max_image_length": 16}, image_and_words),
    row(
        "Flava",
        "Model",
        {
            "text_config": TEXT_PART,
            "image_config": IMAGE,
            "multimodal_config": {
                "hidden_size": 32,
                "num_hidden_layers": 1,
                "num_attention_heads": 4,
                "intermediate_size": 48,
            },
            "hidden_size": 32,
            "projection_dim": 16,
        },
        image_and_words,
    ),
    row(
        "Tapas",
        "Model",
        {**LANGUAGE, "type_vocab_sizes": [3, 8, 8, 2, 8, 8, 8]},
        lambda: {**words(), "token_type_ids": torch.zeros(2, 12, 7, dtype=torch.long)},
    ),
    row(
        "Lxmert",
        "Model",
        {
            "vocab_size": WORDS,
            "hidden_size": 32,
            "num_attention_heads": 4,
            "intermediate_size": 48,
            "l_layers": 1,
            "x_layers": 1,
            "r_layers": 1,
            "visual_feat_dim": 8,
        },
        lambda: {**words(), "visual_feats": torch.randn(2, 3, 8), "visual_pos": torch.rand(2, 3, 4)},
    ),
    row(
        "PatchTST",
        "Model",
        {
            "num_input_channels": 3,
            "context_length": 32,
            "patch_length": 4,
            "patch_stride": 4,
            "d_model": 16,
            "num_attention_heads": 2,
            "num_hidden_layers": 2,
            "ffn_dim": 24,
        },
        lambda: {"past_values": torch.randn(2, 32, 3)},
    ),
    row(
        "PatchTSMixer",
        "Model",
        {
            "num_input_channels": 3,
            "context_length": 32,
            "patch_length": 4,
            "patch_stride": 4,
            "d_model": 16,
            "num_layers": 2,
        },
        lambda: {"past_values": torch.randn(2, 32, 3)},
    ),
    row(
        "DecisionTransformer",
        "Model",
        {"state_dim": 5, "act_dim": 3, "hidden_size": 16, "max_ep_len": 16, "n_layer": 2, "n_head": 2},
        lambda: {
            "states": torch.randn(2, 4, 5),
            "actions": torch.randn(2, 4, 3),
            "rewards": torch.randn(2, 4, 1),
            "returns_to_go": torch.randn(2, 4, 1),
            "timesteps": torch.randint(0, 16, (2, 4)),
            "attention_mask": torch.ones(2, 4),
        },
    ),
]

ROWS = (*CAUSAL, *ENCODERS, *TRANSLATORS, *PICTURES, *SOUNDS, *PAIRS)
