"""More models of sounds and of series in time of Hugging Face transformers."""

from __future__ import annotations

import torch

from tests.frontends.survey.hugging_face import (
    LANGUAGE,
    SOUND,
    WORDS,
    row,
    sound,
    words,
)

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

ROWS = (*SOUNDS, *SERIES)
