"""More models of Hugging Face transformers: mixtures, hybrids, detectors, speech, images with words."""

from __future__ import annotations

from functools import partial

import torch

from tests.frontends.survey.hugging_face import (
    EXPERTS,
    GROUPED,
    HEADS,
    IMAGE,
    LANGUAGE,
    SOUND,
    STAGES,
    TEXT_PART,
    TWO_STACKS,
    VISION_PART,
    WITH_WIDTH,
    WORDS,
    both_words,
    image,
    image_and_words,
    row,
    sound,
    words,
)

HEADS_EXPERTS = {**EXPERTS, "head_dim": 8}
MAMBA = {
    "mamba_n_heads": 4,
    "mamba_d_head": 16,
    "mamba_n_groups": 1,
    "mamba_d_state": 8,
    "mamba_chunk_size": 4,
    "mamba_expand": 2,
}
LATENT = {
    "q_lora_rank": 16,
    "kv_lora_rank": 16,
    "qk_rope_head_dim": 8,
    "qk_nope_head_dim": 8,
    "v_head_dim": 8,
}

CAUSAL = [
    row(stem, "ForCausalLM", settings, words, config)
    for stem, config, settings in [
        (
            "Llama4",
            "Llama4TextConfig",
            {**HEADS, "intermediate_size_mlp": 48, "num_local_experts": 2, "moe_layers": [1]},
        ),
        (
            "Qwen3Next",
            "",
            {
                **HEADS_EXPERTS,
                "shared_expert_intermediate_size": 16,
                "linear_key_head_dim": 8,
                "linear_value_head_dim": 8,
                "linear_num_key_heads": 2,
                "linear_num_value_heads": 4,
                "layer_types": ["linear_attention", "full_attention"],
            },
        ),
        ("MiniMax", "", {**HEADS, "num_local_experts": 4, "num_experts_per_tok": 2, "block_size": 4}),
        ("Bamba", "", {**GROUPED, **MAMBA, "attn_layer_indices": [1]}),
        ("FalconH1", "", {**HEADS, **MAMBA, "mamba_d_ssm": 64}),
        (
            "Zamba2",
            "",
            {
                **LANGUAGE,
                "num_hidden_layers": 3,
                "mamba_d_state": 8,
                "n_mamba_heads": 4,
                "mamba_ngroups": 1,
                "chunk_size": 4,
                "layers_block_type": ["mamba", "hybrid", "mamba"],
                "num_mem_blocks": 1,
                "adapter_rank": 4,
            },
        ),
        (
            "GraniteMoeHybrid",
            "",
            {
                **GROUPED,
                **MAMBA,
                "num_local_experts": 4,
                "num_experts_per_tok": 2,
                "layer_types": ["mamba", "attention"],
            },
        ),
        (
            "GraniteMoeShared",
            "",
            {**GROUPED, "num_local_experts": 4, "num_experts_per_tok": 2, "shared_intermediate_size": 16},
        ),
        (
            "Glm4Moe",
            "",
            {
                **HEADS,
                "moe_intermediate_size": 16,
                "n_routed_experts": 4,
                "num_experts_per_tok": 2,
                "first_k_dense_replace": 1,
            },
        ),
        (
            "Dots1",
            "",
            {
                **HEADS,
                "moe_intermediate_size": 16,
                "n_routed_experts": 4,
                "num_experts_per_tok": 2,
                "first_k_dense_replace": 1,
                "n_group": 1,
                "topk_group": 1,
                "n_shared_experts": 1,
            },
        ),
        (
            "Ernie4_5_Moe",
            "",
            {
                **HEADS,
                "moe_intermediate_size": 16,
                "moe_num_experts": 4,
                "moe_k": 2,
                "moe_num_shared_experts": 1,
                "moe_layer_start_index": 1,
            },
        ),
        ("HunYuanDenseV1", "", HEADS),
        (
            "JetMoe",
            "",
            {
                **LANGUAGE,
                "num_key_value_heads": 4,
                "kv_channels": 8,
                "num_local_experts": 4,
                "num_experts_per_tok": 1,
            },
        ),
        ("Apertus", "", GROUPED),
        ("SeedOss", "", HEADS),
        ("Olmo3", "", {**GROUPED, "sliding_window": 8}),
        ("FlexOlmo", "", {**GROUPED, "num_experts": 4, "num_experts_per_tok": 2}),
        ("Doge", "", GROUPED),
        ("Rwkv", "", {"vocab_size": WORDS, "hidden_size": 32, "num_hidden_layers": 2, "context_length": 64}),
        (
            "xLSTM",
            "",
            {
                "vocab_size": WORDS,
                "hidden_size": 32,
                "embedding_dim": 32,
                "num_heads": 4,
                "num_blocks": 2,
                "num_hidden_layers": 2,
                "chunk_size": 4,
                "mode": "inference",
            },
        ),
        ("BioGpt", "", LANGUAGE),
        ("NanoChat", "", GROUPED),
        ("VaultGemma", "", {**HEADS, "sliding_window": 8}),
        (
            "Lfm2Moe",
            "",
            {
                **GROUPED,
                "num_experts": 4,
                "num_experts_per_tok": 2,
                "moe_intermediate_size": 16,
                "num_dense_layers": 1,
                "layer_types": ["conv", "full_attention"],
            },
        ),
        ("ModernBertDecoder", "", {**LANGUAGE, "local_attention": 8, "cls_token_id": 1, "sep_token_id": 2}),
        ("Ministral3", "", HEADS),
        ("MiniCPM3", "", {**LANGUAGE, **LATENT}),
        (
            "LongcatFlash",
            "",
            {
                **LANGUAGE,
                **LATENT,
                "num_layers": 1,
                "ffn_hidden_size": 48,
                "expert_ffn_hidden_size": 16,
                "moe_topk": 2,
                "n_routed_experts": 4,
                "zero_expert_num": 2,
                "head_dim": 8,
            },
        ),
        ("GPTNeoXJapanese", "", {**LANGUAGE, "intermediate_multiple_size": 2}),
        (
            "CpmAnt",
            "",
            {
                "vocab_size": WORDS,
                "hidden_size": 32,
                "num_attention_heads": 4,
                "dim_head": 8,
                "dim_ff": 48,
                "num_hidden_layers": 2,
                "prompt_length": 2,
                "segment_types": 4,
            },
        ),
        (
            "Gemma3n",
            "Gemma3nTextConfig",
            {
                **HEADS,
                "num_hidden_layers": 4,
                "layer_types": ["sliding_attention", "full_attention"] * 2,
                "sliding_window": 8,
                "intermediate_size": [48] * 4,
                "hidden_size_per_layer_input": 8,
                "vocab_size_per_layer_input": WORDS,
                "laurel_rank": 4,
                "num_kv_shared_layers": 2,
                "activation_sparsity_pattern": [0.5, 0.5, 0.0, 0.0],
            },
        ),
    ]
]

LANGUAGES = [
    row("CTRL", "LMHeadModel", {**WITH_WIDTH, "dff": 48}, words),
    row("OpenAIGPT", "LMHeadModel", WITH_WIDTH, words),
    row("GPT2", "LMHeadModel", WITH_WIDTH, words),
    row("Luke", "Model", {**LANGUAGE, "entity_vocab_size": 16, "entity_emb_size": 8}, words),
    row(
        "Lilt",
        "Model",
        {**LANGUAGE, "hidden_size": 48, "channel_shrink_ratio": 2},
        lambda: {**words(), "bbox": torch.randint(0, 60, (2, 12, 4)).sort(-1).values},
    ),
    row("MarkupLM", "Model", {**LANGUAGE, "max_depth": 4}, words),
    row("NomicBert", "Model", LANGUAGE, words),
    row("EuroBert", "Model", GROUPED, words),
    row("Ernie", "Model", LANGUAGE, words),
    row("XLMRobertaXL", "Model", LANGUAGE, words),
    row("RoCBert", "Model", {**LANGUAGE, "pronunciation_vocab_size": 16, "shape_vocab_size": 16}, words),
    row(
        "Reformer",
        "Model",
        {
            **LANGUAGE,
            "attention_head_size": 8,
            "attn_layers": ["local", "local"],
            "axial_pos_embds": False,
            "local_attn_chunk_length": 4,
            "feed_forward_size": 48,
            "is_decoder": False,
        },
        words,
    ),
    row("Flaubert", "Model", {"vocab_size": WORDS, "emb_dim": 32, "n_layers": 2, "n_heads": 4}, words),
    row("Mvp", "Model", TWO_STACKS, both_words),
    row("PLBart", "Model", TWO_STACKS, both_words),
    row("BigBirdPegasus", "Model", {**TWO_STACKS, "attention_type": "original_full"}, both_words),
    row("PegasusX", "Model", {**TWO_STACKS, "block_size": 4, "num_global_tokens": 2}, both_words),
    row(
        "NllbMoe",
        "Model",
        {**TWO_STACKS, "num_experts": 4, "encoder_sparse_step": 2, "decoder_sparse_step": 2},
        both_words,
    ),
    row(
        "FSMT",
        "Model",
        {**TWO_STACKS, "src_vocab_size": WORDS, "tgt_vocab_size": WORDS, "langs": ["en", "de"]},
        both_words,
    ),
    row("BlenderbotSmall", "Model", TWO_STACKS, both_words),
]

WITHOUT_SIZE = {key: size for key, size in IMAGE.items() if key != "image_size"}
RESNET = {
    "embedding_size": 8,
    "hidden_sizes": [8, 16, 24, 32],
    "depths": [1, 1, 1, 1],
    "out_features": ["stage2", "stage3", "stage4"],
    "model_type": "resnet",
}
DETECTION = {
    "d_model": 16,
    "encoder_layers": 1,
    "decoder_layers": 1,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 24,
    "decoder_ffn_dim": 24,
    "num_queries": 5,
    "num_labels": 4,
    "backbone_config": RESNET,
    "use_timm_backbone": False,
    "backbone": None,
}
PICTURES = [
    row("Detr", "ForObjectDetection", DETECTION, partial(image, 64)),
    row("ConditionalDetr", "ForObjectDetection", DETECTION, partial(image, 64)),
    row(
        "DeformableDetr",
        "ForObjectDetection",
        {**DETECTION, "d_model": 32, "encoder_n_points": 2, "decoder_n_points": 2},
        partial(image, 64),
    ),
    row("ViTMAE", "Model", IMAGE, image),
    row("IJepa", "Model", IMAGE, image),
    row("Dinov2WithRegisters", "Model", {**IMAGE, "num_register_tokens": 2}, image),
    row(
        "Pvt",
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
        "GLPN",
        "ForDepthEstimation",
        {"hidden_sizes": [8, 16, 24, 32], "depths": [1, 1, 1, 1], "decoder_hidden_size": 8},
        partial(image, 64),
    ),
    row(
        "Bit",
        "Model",
        {"embedding_size": 8, "hidden_sizes": [32, 32, 64, 64], "depths": [1, 1, 1, 1], "num_groups": 4},
        partial(image, 64),
    ),
    row(
        "EfficientNet",
        "Model",
        {"image_size": 64, "width_coefficient": 0.25, "depth_coefficient": 0.25, "hidden_dim": 320},
        partial(image, 64),
    ),
    row("MobileViTV2", "Model", {"image_size": 64, "width_multiplier": 0.25}, partial(image, 64)),
    row(
        "Swin2SR",
        "ForImageSuperResolution",
        {"image_size": 16, "embed_dim": 16, "depths": [1, 1], "num_heads": [2, 2], "window_size": 4},
        partial(image, 16),
    ),
    row(
        "VitDet",
        "Model",
        {
            **IMAGE,
            "num_channels": 3,
            "window_block_indices": [0],
            "window_size": 2,
            "use_relative_position_embeddings": True,
        },
        image,
    ),
    row(
        "SuperPoint",
        "ForKeypointDetection",
        {"encoder_hidden_sizes": [8, 8, 16, 16], "decoder_hidden_size": 16, "descriptor_decoder_dim": 16},
        partial(image, 64),
    ),
    row("TextNet", "Model", {"image_size": [64, 64]}, partial(image, 64)),
    row(
        "HGNetV2",
        "ForImageClassification",
        {
            "stem_channels": [3, 8, 8],
            "stage_in_channels": [8, 16, 24, 32],
            "stage_mid_channels": [4, 8, 8, 8],
            "stage_out_channels": [16, 24, 32, 32],
            "stage_num_blocks": [1, 1, 1, 1],
            "embedding_size": 8,
            "hidden_sizes": [16, 24, 32, 32],
            "depths": [1, 1, 1, 1],
        },
        partial(image, 64),
    ),
    row("DINOv3ConvNext", "Model", STAGES, partial(image, 64)),
    row("ImageGPT", "Model", {**WITH_WIDTH}, words),
    row(
        "VJEPA2",
        "Model",
        {
            **IMAGE,
            "crop_size": 32,
            "frames_per_clip": 4,
            "pred_hidden_size": 16,
            "pred_num_attention_heads": 2,
            "pred_num_hidden_layers": 1,
        },
        lambda: {"pixel_values_videos": torch.randn(1, 4, 3, 32, 32)},
    ),
]

SOUNDS = [
    row("UniSpeech", "Model", SOUND, sound),
    row(
        "SEWD",
        "Model",
        {**SOUND, "squeeze_factor": 2, "max_position_embeddings": 64, "position_buckets": 16},
        sound,
    ),
    row(
        "Wav2Vec2Bert",
        "Model",
        {**SOUND, "feature_projection_input_dim": 16, "conformer_conv_dropout": 0.0},
        lambda: {"input_features": torch.randn(2, 20, 16)},
    ),
    row(
        "Dac",
        "Model",
        {
            "encoder_hidden_size": 4,
            "downsampling_ratios": [2, 4],
            "decoder_hidden_size": 16,
            "n_codebooks": 2,
            "codebook_size": 16,
            "codebook_dim": 4,
        },
        lambda: {"input_values": torch.randn(1, 1, 320)},
    ),
    row(
        "Mimi",
        "Model",
        {
            "hidden_size": 16,
            "num_filters": 4,
            "upsampling_ratios": [4, 2],
            "codebook_size": 16,
            "codebook_dim": 8,
            "num_quantizers": 3,
            "num_hidden_layers": 1,
            "num_attention_heads": 2,
            "num_key_value_heads": 2,
            "head_dim": 8,
            "intermediate_size": 24,
            "vector_quantization_hidden_dimension": 8,
            "upsample_groups": 16,
            "sliding_window": 8,
            "use_cache": False,
        },
        lambda: {"input_values": torch.randn(1, 1, 320)},
    ),
    row(
        "Moonshine",
        "Model",
        {
            **LANGUAGE,
            "encoder_num_hidden_layers": 1,
            "decoder_num_hidden_layers": 1,
            "encoder_num_attention_heads": 4,
            "decoder_num_attention_heads": 4,
            "encoder_num_key_value_heads": 4,
            "decoder_num_key_value_heads": 4,
        },
        lambda: {"input_values": torch.randn(1, 1600), "decoder_input_ids": torch.randint(3, WORDS, (1, 5))},
    ),
    row(
        "SpeechT5",
        "ForSpeechToText",
        {
            **SOUND,
            "vocab_size": WORDS,
            "encoder_layers": 1,
            "decoder_layers": 1,
            "encoder_attention_heads": 4,
            "decoder_attention_heads": 4,
            "encoder_ffn_dim": 48,
            "decoder_ffn_dim": 48,
        },
        lambda: {**sound(), "decoder_input_ids": torch.randint(3, WORDS, (2, 5))},
    ),
    row(
        "Vits",
        "Model",
        {
            "vocab_size": WORDS,
            "hidden_size": 16,
            "num_hidden_layers": 1,
            "num_attention_heads": 2,
            "ffn_dim": 24,
            "flow_size": 16,
            "spectrogram_bins": 9,
            "upsample_initial_channel": 16,
            "prior_encoder_num_wavenet_layers": 1,
            "posterior_encoder_num_wavenet_layers": 1,
        },
        lambda: words(6),
    ),
    row(
        "Clap",
        "AudioModel",
        {
            "image_size": 64,
            "spec_size": 64,
            "hidden_size": 32,
            "patch_embeds_hidden_size": 8,
            "depths": [1, 1],
            "num_attention_heads": [2, 4],
            "num_mel_bins": 16,
            "window_size": 4,
            "patch_size": 4,
            "patch_stride": [4, 4],
            "enable_fusion": False,
        },
        lambda: {"input_features": torch.randn(1, 1, 100, 16)},
        "ClapAudioConfig",
    ),
    row(
        "UnivNet",
        "Model",
        {
            "model_in_channels": 8,
            "model_hidden_channels": 8,
            "num_mel_bins": 10,
            "kernel_predictor_hidden_channels": 8,
            "resblock_kernel_sizes": [3, 3],
            "resblock_stride_sizes": [4, 2],
            "resblock_dilation_sizes": [[1, 3], [1, 3]],
        },
        lambda: {"input_features": torch.randn(1, 8, 10), "noise_sequence": torch.randn(1, 8, 8)},
    ),
]

SERIES = [
    row(
        stem,
        "Model",
        {
            "prediction_length": 4,
            "context_length": 8,
            "input_size": 1,
            "lags_sequence": [1, 2],
            "num_time_features": 1,
            "d_model": 16,
            "encoder_layers": 1,
            "decoder_layers": 1,
            "encoder_attention_heads": 2,
            "decoder_attention_heads": 2,
            "encoder_ffn_dim": 24,
            "decoder_ffn_dim": 24,
        },
        lambda: {
            "past_values": torch.randn(2, 10),
            "past_time_features": torch.randn(2, 10, 1),
            "past_observed_mask": torch.ones(2, 10),
            "future_values": torch.randn(2, 4),
            "future_time_features": torch.randn(2, 4, 1),
        },
    )
    for stem in ("TimeSeriesTransformer", "Informer")
]

TEXT_AND_IMAGE = {
    "text_config": {**TEXT_PART, "projection_dim": 16},
    "vision_config": VISION_PART,
    "projection_dim": 16,
}


def with_image_tokens(count: int = 16) -> dict[str, torch.Tensor]:
    """Tokens of which some stand for the patches of an image."""
    ids = torch.randint(3, 90, (1, count + 4))
    ids[:, 2 : 2 + count] = 95
    return {"input_ids": ids, "pixel_values": torch.randn(1, 3, 32, 32)}


PAIRS = [
    row(
        "AltCLIP",
        "Model",
        {**TEXT_AND_IMAGE, "text_config": {**LANGUAGE, "project_dim": 16}},
        image_and_words,
    ),
    row("ChineseCLIP", "Model", TEXT_AND_IMAGE, image_and_words),
    row(
        "OwlViT",
        "Model",
        {
            "text_config": {**TEXT_PART, "max_position_embeddings": 8},
            "vision_config": IMAGE,
            "projection_dim": 16,
        },
        image_and_words,
    ),
    row(
        "GroupViT",
        "Model",
        {
            "text_config": TEXT_PART,
            "vision_config": {
                **IMAGE,
                "depths": [1, 1],
                "num_group_tokens": [4, 0],
                "num_output_groups": [4, 4],
                "num_hidden_layers": 2,
            },
            "projection_dim": 16,
            "projection_intermediate_dim": 16,
        },
        image_and_words,
    ),
    row(
        "CLIPSeg",
        "ForImageSegmentation",
        {
            **TEXT_AND_IMAGE,
            "extract_layers": [0, 1],
            "reduce_dim": 8,
            "decoder_num_attention_heads": 2,
            "decoder_intermediate_size": 16,
        },
        image_and_words,
    ),
    row("Git", "ForCausalLM", {**LANGUAGE, "vision_config": IMAGE}, image_and_words),
    row(
        "Llava",
        "ForConditionalGeneration",
        {
            "text_config": {**GROUPED, "model_type": "llama"},
            "vision_config": {**IMAGE, "model_type": "clip_vision_model"},
            "image_token_index": 95,
        },
        with_image_tokens,
    ),
    row(
        "PaliGemma",
        "ForConditionalGeneration",
        {
            "text_config": {**HEADS, "model_type": "gemma"},
            "vision_config": {
                **IMAGE,
                "model_type": "siglip_vision_model",
                "vision_use_head": False,
                "projection_dim": 32,
            },
            "image_token_index": 95,
            "projection_dim": 32,
        },
        with_image_tokens,
    ),
    row(
        "VisualBert",
        "Model",
        {**LANGUAGE, "visual_embedding_dim": 8},
        lambda: {
            **words(),
            "visual_embeds": torch.randn(2, 3, 8),
            "visual_token_type_ids": torch.ones(2, 3, dtype=torch.long),
            "visual_attention_mask": torch.ones(2, 3),
        },
    ),
    row(
        "LayoutLMv3",
        "Model",
        {
            **LANGUAGE,
            "input_size": 32,
            "patch_size": 8,
            "coordinate_size": 6,
            "shape_size": 4,
            "visual_embed": True,
        },
        lambda: {**image_and_words(), "bbox": torch.randint(0, 60, (2, 8, 4)).sort(-1).values},
    ),
    row(
        "BridgeTower",
        "Model",
        {
            "text_config": LANGUAGE,
            "vision_config": {**IMAGE, "hidden_size": 64},
            "hidden_size": 32,
            "num_attention_heads": 4,
            "num_hidden_layers": 1,
        },
        image_and_words,
    ),
    row(
        "TrOCR",
        "ForCausalLM",
        {
            "vocab_size": WORDS,
            "d_model": 32,
            "decoder_layers": 2,
            "decoder_attention_heads": 4,
            "decoder_ffn_dim": 48,
            "use_cache": False,
        },
        words,
    ),
]

ROWS = (*CAUSAL, *LANGUAGES, *PICTURES, *SOUNDS, *SERIES, *PAIRS)
