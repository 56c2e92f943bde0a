"""Changes between releases of the reference: named behaviours, each with its reason and its test.

Rules, passes and the plan of XLA's partitioner ask for a behaviour; no module compares releases.

    if Behaviour.PAD_MOVES_BY_AMOUNT.holds: ...

A new release is a row of `RELEASES` in `releases.py`, and a member of `Behaviour` for each difference that
the differential tests find.

>>> with of("0.10"):
...     Behaviour.PAD_MOVES_BY_AMOUNT.holds
False
>>> with of("0.12"):
...     Behaviour.PAD_MOVES_BY_AMOUNT.holds
True
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from enum import Enum

from shardy_py.base.records import dataclass
from shardy_py.base.releases import JAX_0_11, JAX_0_12, SHARDY_2026_08_22, Release, current, of


@dataclass(frozen=True, slots=True)
class ReferenceChange:
    """A change of the reference.

    since: the first release with it.
    reason: the change, as a phrase about the reference.
    tests: the file of tests or the folder that holds it.
    """

    since: Release
    reason: str
    tests: str


class Behaviour(Enum):
    """A behaviour of the reference since some release; the value says since which, and what was before."""

    UPDATE_MOVES = ReferenceChange(
        JAX_0_11,
        "a dynamic_update_slice permutes a dimension that it updates in part; before, the operand's passes "
        "through and the update is replicated",
        "tests/propagation/rules/test_releases.py",
    )
    PAD_MOVES_BY_AMOUNT = ReferenceChange(
        JAX_0_12,
        "a pad permutes the dimensions that it pads; before, those whose size changes",
        "tests/propagation/rules/test_releases.py",
    )
    CONVOLUTION_HAS_LONE_FACTORS = ReferenceChange(
        JAX_0_12,
        "windows and kernel elements without room in the input's dimension have factors of their own",
        "tests/propagation/rules/test_releases.py",
    )
    RESHAPE_JOINS_DIVERGING_DIMENSIONS = ReferenceChange(
        JAX_0_12,
        "where a reshape diverges its dimensions share a permutation factor, and what follows is replicated, "
        "as dimensions of one are; before, all factors pass through",
        "tests/propagation/rules/test_releases.py",
    )
    MAIN_RESULTS_TAKE_SHARDINGS = ReferenceChange(
        JAX_0_11,
        "a result of main without a sharding takes that of the returned value",
        "tests/passes/test_releases.py",
    )
    SINGLE_DEVICE_RESULTS_STAY_INSIDE = ReferenceChange(
        JAX_0_11,
        "a sharding on one device is not copied to a result of a function",
        "tests/passes/test_releases.py",
    )
    CONSTRAINTS_BEFORE_CALLS_ARE_INLINED = ReferenceChange(
        JAX_0_12,
        "sdy-propagation-pipeline applies constraints before it inlines calls, over the edges of functions",
        "tests/passes/test_releases.py",
    )
    OPEN_INPUT_TAKES_CONSTRAINT = ReferenceChange(
        JAX_0_12,
        "a constraint determines the sharding of an input whose own is open in every dimension",
        "tests/passes/test_releases.py",
    )
    CHAINS_REACH_RETURNS = ReferenceChange(
        JAX_0_12,
        "functions other than main return the last of a chain of constraints instead of its input",
        "tests/passes/test_apply_sharding_constraints.py",
    )
    CONSTRAINT_FOLLOWS_FUNCTION_EDGE = ReferenceChange(
        JAX_0_12,
        "the users of an edge between functions use its constraint; before, the edge took the sharding",
        "tests/passes/test_releases.py",
    )
    IF_IS_DATA_FLOW = ReferenceChange(
        JAX_0_12,
        "shardings propagate through stablehlo.if as through stablehlo.case",
        "tests/passes/test_releases.py",
    )
    ALL_REDUCES_HAVE_OPERATORS = ReferenceChange(
        JAX_0_11,
        "the all-reduce after a reduce takes the maximum or minimum where its body does; before, all sum",
        "tests/passes/test_releases.py",
    )
    MIXED_VALUES_ARE_NOT_SUMMED = ReferenceChange(
        JAX_0_12,
        "a reduce of several values without one reduction operator has no all-reduce; before, sums",
        "tests/passes/test_releases.py",
    )
    ALL_PARTIAL_SUMS_ARE_MARKED = ReferenceChange(
        JAX_0_12,
        "mark-partial-result-with-unreduced-axes marks what is summed though it was combined in another way, "
        "as by `and`; before, results of reduction operators only",
        "tests/passes/test_releases.py",
    )
    RESHAPE_KEEPS_EQUAL_PARTS = ReferenceChange(
        JAX_0_12,
        "a reshape whose axes divide operand and result at the same levels is not resharded where they "
        "do not fit its factors, as 3 devices in 16x16 and 256",
        "tests/passes/test_releases.py",
    )
    MISALIGNED_PARTS_ARE_GATHERED = ReferenceChange(
        JAX_0_12,
        "sdy-reshard-to-collectives gathers dimensions whose uneven parts before and after do not line up",
        "tests/passes/test_releases.py",
    )
    CALLS_ARE_RESHARDED_WHERE_UNREDUCED = ReferenceChange(
        SHARDY_2026_08_22,
        "a call whose result and the function's differ in unreduced axes alone is followed by a reshard",
        "tests/passes/test_releases.py",
    )
    CALLS_KEEP_UNREDUCED_AXES = ReferenceChange(
        JAX_0_12,
        "a call whose result and the function's differ in unreduced axes keeps its sharding; no reshard",
        "tests/passes/test_releases.py",
    )
    SINGLE_DEVICE_OPS_ARE_RESHARDED = ReferenceChange(
        SHARDY_2026_08_22,
        "sdy-insert-explicit-reshards in its full version moves operands of ops on one device there, and "
        "their results back",
        "tests/passes/test_releases.py",
    )
    SINGLE_DEVICE_TENSORS_ARE_RESHARDED = ReferenceChange(
        JAX_0_11,
        "ops on one device are resharded without the full version, too, and tokens stay there",
        "tests/passes/test_releases.py",
    )
    UNREDUCED_AXES_ARE_VERIFIED = ReferenceChange(
        SHARDY_2026_08_22,
        "the pipelines run sdy-verify-unreduced-axes; before, axes that ops drop were reduced",
        "tests/passes/test_releases.py",
    )
    SUMS_ARE_PROPERTIES = ReferenceChange(
        SHARDY_2026_08_22,
        "sdy.all_reduce and sdy.reduce_scatter show `reduction_op` in generic form",
        "tests/mlir/dialects/sdy/test_releases.py",
    )
    REDUCTIONS_ADD_NO_UNREDUCED_AXES = ReferenceChange(
        SHARDY_2026_08_22,
        "sdy.all_reduce and sdy.reduce_scatter may not add unreduced axes",
        "tests/mlir/dialects/sdy/test_releases.py",
    )
    MAXIMA_ARE_INTRODUCED = ReferenceChange(
        JAX_0_11,
        "reshards, constraints and to_unreduced ops may introduce axes unreduced by a maximum or "
        "minimum; before, by a sum only",
        "tests/mlir/dialects/sdy/test_releases.py",
    )
    SINGLE_DEVICE_IS_THE_WORD = ReferenceChange(
        JAX_0_12,
        "messages say single-device sharding; before, maximal sharding",
        "tests/mlir/dialects/sdy/test_releases.py",
    )
    POSITIONS_ARE_NARROW = ReferenceChange(
        JAX_0_12,
        "the partitioner's passes compute positions in i32, look tables up by the id as it is, replace what "
        "neighbors beyond the ends would send by padding, and use no channels among replicas",
        "tests/localize/test_releases.py",
    )
    EXCHANGED_SLICES_KEEP_STRIDES = ReferenceChange(
        JAX_0_11,
        "sdy-resolve-permutation-factors keeps strides of dimensions that are not sharded where it exchanges "
        "parts of others; before, all their elements stay, and the program is invalid",
        "tests/localize/test_releases.py",
    )
    DIGAMMA_OF_ZERO_IS_INFINITE = ReferenceChange(
        JAX_0_11,
        "XLA's digamma of 0 is -inf; before, NaN as at its other poles",
        "tests/ops/compute/test_elementwise.py",
    )
    LITERALS_ARE_ROUNDED_ONCE = ReferenceChange(
        JAX_0_12,
        "a decimal literal is rounded to its type at once; before, to f64 first",
        "tests/mlir/text/test_releases.py",
    )
    GENERIC_ALIASES_START_OUTSIDE = ReferenceChange(
        JAX_0_11,
        "in generic form the attributes of an op get aliases before its properties; before, all by name",
        "tests/mlir/text/test_releases.py",
    )
    ARCSINE_HAS_THREE_OPS = ReferenceChange(
        JAX_0_12,
        "XLA makes 3 ops with one flop of an asin; before, 5",
        "tests/report/time/test_flops.py",
    )
    CALLS_ARE_COUNTED = ReferenceChange(
        JAX_0_11,
        "the error for a call with another number of operands or results than its callee has both numbers",
        "tests/mlir/dialects/test_invalid_programs.py",
    )
    OPS_ARE_PADDED_INSIDE = ReferenceChange(
        JAX_0_12,
        "sdy-per-instruction-partitioning slices padded operands and pads results within the computation of "
        "an op of main; before, the op itself was padded, of any function",
        "tests/localize/test_releases.py",
    )
    PADDED_RESULTS_ARE_HANDED_ON = ReferenceChange(
        JAX_0_11,
        "computations of sdy-per-instruction-partitioning take the padded results of those before; before, "
        "these were cut and padded again",
        "tests/localize/test_per_instruction.py",
    )
    COLLECTIVES_ARE_PARTITIONED = ReferenceChange(
        JAX_0_11,
        "sdy-per-instruction-partitioning partitions collectives; before, they stay",
        "tests/localize/test_per_instruction.py",
    )
    CALLS_AND_SUMS_ARE_PARTITIONED = ReferenceChange(
        JAX_0_12,
        "sdy-per-instruction-partitioning partitions calls, with copies of their callees, and an all-reduce "
        "with the convolution before it; before, calls stay",
        "tests/localize/test_per_instruction.py",
    )
    LOCAL_UPDATES_STAY = ReferenceChange(
        JAX_0_12,
        "sdy-resolve-permutation-factors leaves updates at constant indices within the part of one device; "
        "before, it replicates them as others",
        "tests/localize/test_releases.py",
    )
    CONVOLUTION_GROUPS_ARE_WHOLE = ReferenceChange(
        JAX_0_12,
        "sdy-resolve-permutation-factors replicates the dimensions of a convolution's groups and windows, "
        "and the all-reduce of products that each device has all of goes; before, permutation factors only",
        "tests/localize/test_whole_factors.py",
    )
    PADDED_OPS_ADAPT = ReferenceChange(
        JAX_0_12,
        "sdy-pad-for-divisibility replaces padding that a reduce reads by its initial value, makes groups of "
        "padded features and batches, slices all that is gathered from uneven dimensions, and limits "
        "indices of gathers to what is not padding",
        "tests/localize/test_padding.py",
    )
    PRODUCTS_MAKE_ZEROS = ReferenceChange(
        JAX_0_11,
        "sdy-pad-for-divisibility makes a zero at products of padded operands, also where it is not used",
        "tests/localize/test_padding.py",
    )
    LAYOUTS_MERGE_SUB_AXES = ReferenceChange(
        SHARDY_2026_08_22,
        "a reshard reuses an earlier one of another shape whose sub-axes make up the same axis",
        "tests/passes/test_releases.py",
    )
    PARTS_ARE_EXCHANGED = ReferenceChange(
        SHARDY_2026_08_22,
        "sdy-resolve-permutation-factors exchanges parts of pads and slices, resolves reshapes and random "
        "bits, and reshards after a reverse; before, it exchanged parts of uneven reversals only",
        "tests/localize/test_releases.py",
    )
    SUB_AXES_HAVE_STRIDES = ReferenceChange(
        SHARDY_2026_08_22,
        "tables of sdy-convert-global-to-local have the positions along sub-axes; before, those along the "
        "sub-axis of the same size with as many devices beyond it as it has before it",
        "tests/localize/test_releases.py",
    )
    RESULTS_HAVE_ORIGINS = ReferenceChange(
        JAX_0_12,
        "the recorded origins and edges of an op's results have an entry for each; before, if not empty",
        "tests/passes/propagate/test_debug_trail.py",
    )
    EXPORT_INLINES_MESHES = ReferenceChange(
        SHARDY_2026_08_22,
        "sdy-export-pipeline inlines meshes by default",
        "tests/passes/test_pipelines.py",
    )
    EXPORT_OPTIMIZES = ReferenceChange(
        JAX_0_11,
        "sdy-export-pipeline and sdy-per-instruction-partitioning optimize the collectives that they insert",
        "tests/passes/test_pipelines.py",
    )
    UNEVEN_SUMS_STAY = ReferenceChange(
        JAX_0_11,
        "canonicalize leaves an all-reduce and the all-slice after it where parts are uneven; before, they "
        "became a reduce-scatter",
        "tests/passes/test_releases.py",
    )
    UNEVEN_SUMS_ARE_SCATTERED = ReferenceChange(
        JAX_0_12,
        "canonicalize makes reduce-scatters of uneven parts again",
        "tests/passes/test_releases.py",
    )
    GROUPS_ARE_AXES = ReferenceChange(
        JAX_0_11,
        "sdy-convert-global-to-local writes replica groups as axes of a mesh by default; "
        "sdy-drop-sharding-and-mesh keeps the meshes of groups",
        "tests/localize/test_releases.py",
    )
    OFFSETS_OF_INDICES_HAVE_SHARDINGS = ReferenceChange(
        JAX_0_11,
        "what sdy-convert-global-to-local subtracts from indices of gathers and scatters has a sharding",
        "tests/localize/test_releases.py",
    )
    MAIN_SHARDINGS_ARE_METADATA = ReferenceChange(
        JAX_0_12,
        "sdy-convert-global-to-local writes the shardings of main into attributes of the module",
        "tests/localize/test_releases.py",
    )
    RANDOM_PARTS_HAVE_STATES = ReferenceChange(
        JAX_0_12,
        "in local programs random bits of each part start from a state of its own; before, from the same",
        "tests/localize/test_releases.py",
    )
    FFT_KEEPS_BATCHES = ReferenceChange(
        JAX_0_12,
        "XLA partitions an FFT as an elementwise op if no transformed dimension of it is sharded; before, "
        "every device got all of it",
        "tests/xla/spmd/test_releases.py",
    )
    SHARDINGS_HAVE_AXES = ReferenceChange(
        JAX_0_11,
        "XLA's partitioner has shardings by mesh and axes, but of what broadcasts keep: gathers and scatters "
        "merge them axis by axis, and no all-to-all goes between one and a partial one by tiles; before, all "
        "are by tiles",
        "tests/xla/spmd/test_releases.py",
    )
    MERGED_TILES_KEEP_GROUPS = ReferenceChange(
        JAX_0_12,
        "groups of devices along dimensions of a gather or scatter are merged with tiles of other dimensions "
        "only; before, of all, which was refused where they differ, or stopped XLA at a check",
        "tests/xla/spmd/test_releases.py",
    )
    SCATTER_GATHERS_CONFLICTS = ReferenceChange(
        JAX_0_11,
        "a scatter that is split along its indices first gathers its updates along dimensions that have axes "
        "of the dimensions that the indices address",
        "tests/xla/spmd/test_releases.py",
    )
    PRODUCTS_STAY_NARROW = ReferenceChange(
        JAX_0_11,
        "on the host XLA's products of bf16 to bf16 are by a library, but of operands that a transpose left "
        "out of order; before, of operands in f32",
        "tests/report/memory/test_host_rules.py",
    )
    ORDERED_STAYS_NARROW = ReferenceChange(
        JAX_0_11,
        "on the host XLA moves, compares, sorts and negates bf16 as it is; before, in f32",
        "tests/report/memory/test_narrow.py",
    )
    CONCATENATIONS_ARE_COPIED_BY_BYTES = ReferenceChange(
        JAX_0_12,
        "on the host XLA fuses no concatenation with rows of 64 bytes in 2,048; before, of 128 elements",
        "tests/xla/buffers/test_host_fusion.py",
    )
    ERF_HAS_RULE = ReferenceChange(
        JAX_0_12,
        "XLA gives erf, an op of HLO that Shardy does not know, an elementwise rule",
        "tests/xla/prepare/test_releases.py",
    )
    SUMS_ARE_METADATA = ReferenceChange(
        JAX_0_11,
        "unreduced shardings by tiles name a sum in metadata, too; before, maxima and minima only",
        "tests/xla/hlo_sharding/test_releases.py",
    )
    HLO_DROPS_PRIORITIES = ReferenceChange(
        JAX_0_11,
        "JAX compiles without priorities: HLO has shardings by mesh and axes, which cannot express them; "
        "before, they went beside it as text",
        "tests/xla/prepare/test_releases.py",
    )

    @property
    def holds(self) -> bool:
        """True if the current release has the behaviour."""
        return self.value.since.order <= current().order


def at_least(behaviour: Behaviour) -> AbstractContextManager[Release]:
    """Follows the first release with a behaviour within, unless the current one has it: for what it lacks."""
    return of(current() if behaviour.holds else behaviour.value.since)
