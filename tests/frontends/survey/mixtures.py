"""More language models of Hugging Face transformers: mixtures of experts, hybrids, two stacks."""

from __future__ import annotations

import torch

from tests.frontends.survey.hugging_face import (
    EXPERTS,
    GROUPED,
    HEADS,
    LANGUAGE,
    TWO_STACKS,
    WITH_WIDTH,
    WORDS,
    both_words,
    row,
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

ROWS = (*CAUSAL, *LANGUAGES)
