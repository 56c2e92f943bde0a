"""XLA's steps on a program of JAX before it propagates shardings: one pass per step, in this order.

JAX's compiler goes through HLO on its way to Shardy, so Shardy gets another program than JAX prints.

| pass | XLA |
|---|---|
| `xla-drop-priorities` | shardings of HLO by mesh and axes (since JAX 0.12) |
| `xla-merge-meshes` | sdy_round_trip/dedup_meshes.cc |
| `xla-fold` | stablehlo-target-independent-optimization |
| `xla-inline-calls` | the HLO pass CallInliner |
| `xla-fold-empty-values` | the HLO pass ZeroSizedHloElimination |
| `xla-drop-invariant-loop-values` | StableHLO's canonicalization of HLO |
| `xla-erase-dead-ops` | the HLO pass HloDCE |
| `xla-order-ops` | HloComputation::MakeInstructionPostOrder |
| `xla-populate-expanded-op-rules` | stablehlo-legalize of chlo, before HLO |
| `xla-open-free-loop-values` | round_trip_common/open_while_free_vars_sharding.cc |

`xla-before-propagation-pipeline` is all of them; `Program.from_jax` runs it. docs/design/jax.md has the
reasons; `taken.py` decides which programs they change. `for_tpu.py` simplifies further, as XLA:TPU
does, for reports on its programs only. Not here: dumps of XLA (`xla/gspmd/`).
"""
