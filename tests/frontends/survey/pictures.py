"""More models of images of Hugging Face transformers: detectors, and images with words."""

from __future__ import annotations

from functools import partial

import torch

from tests.frontends.survey.hugging_face import (
    GROUPED,
    HEADS,
    IMAGE,
    LANGUAGE,
    STAGES,
    TEXT_PART,
    VISION_PART,
    WITH_WIDTH,
    WORDS,
    image,
    image_and_words,
    row,
    words,
)

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
    row("ViTMAE", "Model", IMAGE, lambda: {**image(), "noise": torch.rand(2, 16)}),
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
        {
            "hidden_sizes": [8, 16, 24, 32],
            "depths": [1, 1, 1, 1],
            "num_attention_heads": [1, 2, 2, 4],
            "decoder_hidden_size": 8,
        },
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

ROWS = (*PICTURES, *PAIRS)
