"""The row of an op: the description of an op besides its dialect's row.

The dialect's row (`mlir/dialects/`) holds definition, syntax, verifier and xDSL traits: effects,
constant-ness, terminators, data flow. The row here holds what needs no xDSL. Engines ask these two and
never name an op:

    TABLE[op.name].control is Control.LOOP

Every column has a default that means "nothing special". docs/design/ops.md lists the columns and their users.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, auto

from shardy_py.base.behaviours import Behaviour
from shardy_py.base.records import dataclass
from shardy_py.ops.combiners import Combiner
from shardy_py.ops.policy import BY_MAPS, Policy
from shardy_py.ops.reads import Maps
from shardy_py.ops.record import OpRecord
from shardy_py.ops.work import WorkOf
from shardy_py.sharding import ShardingRule


class Role(Enum):
    """The priority class of a step when ops propagate by priority.

    PASS_THROUGH: elementwise ops, reshapes, transposes, data-flow edges. SLICE: dynamic slices and updates.
    BROADCAST: broadcasts. BARRIER: a propagation barrier, whose direction is its own. OTHER: the rest.
    """

    PASS_THROUGH = 0
    SLICE = 1
    BROADCAST = 2
    BARRIER = 3
    OTHER = 4


class RuleSource(Enum):
    """The source of an op's sharding rule in Shardy.

    MAPS: the rule follows from the op's maps. NONE: the op is known and has no rule; propagation treats it
    itself, or it has nothing to propagate. UNKNOWN: Shardy has no rule although maps may be known here; it
    warns.
    """

    MAPS = auto()
    NONE = auto()
    UNKNOWN = auto()


class Control(Enum):
    """The execution of the regions or callees of an op.

    NONE: there are none, or they only combine elements. CALL: a function by its symbol. REGION: the region,
    once, with the operands as its arguments. MANUAL: the same, on each device's parts. ASYNC: the same,
    beside what follows. BRANCHES: one of the regions. LOOP: condition and body, repeatedly. DEFINITION: a
    function or module, which holds the program.
    """

    NONE = auto()
    CALL = auto()
    REGION = auto()
    MANUAL = auto()
    ASYNC = auto()
    BRANCHES = auto()
    LOOP = auto()
    DEFINITION = auto()


class Storage(Enum):
    """The place of an op's results in memory.

    NEW: in arrays of their own. ALIAS: result k is the array of operand k under another name. IN_PLACE:
    result k takes the place of operand k if that is not read later. ELEMENT: in the tuple that is the
    operand.
    """

    NEW = auto()
    ALIAS = auto()
    IN_PLACE = auto()
    ELEMENT = auto()


class Family(Enum):
    """The way an op treats the elements that it reads: the default of its facets (`ops/facets.py`).

    ELEMENTWISE: computes each from the same one of the operands. MOVEMENT: moves them to other places.
    INDEXED: the same, where places or sizes are values. PRODUCT: sums products of two. WINDOW: combines those
    in a window at each place, by the attributes that `own_windows` reads. COLLECTIVE: sends them to other
    devices. OTHER: anything else.
    """

    ELEMENTWISE = auto()
    MOVEMENT = auto()
    INDEXED = auto()
    PRODUCT = auto()
    WINDOW = auto()
    COLLECTIVE = auto()
    OTHER = auto()


class Linear(Enum):
    """The operands in which an op is linear, so that it maps terms of a sum to terms of its result.

    NO: none. ALL: all together, as an addition. ONE: each, with the others fixed, as a product. FIRST: the
    first, with the others fixed, as a quotient. ROUNDED: its only one, but for a rounding of each term, which
    partial sums must not have.
    """

    NO = auto()
    ALL = auto()
    ONE = auto()
    FIRST = auto()
    ROUNDED = auto()


class Memory(Enum):
    """The memory that a call moves its operand to: STATED in its `mhlo.frontend_attributes`."""

    SAME = auto()
    HOST = auto()
    DEVICE = auto()
    STATED = auto()


class Repeat(Enum):
    """How XLA counts computing an op again in each consumer that it is fused into.

    FREE: always done. CHEAP: done. EXPENSIVE: not done. Source: openxla/xla, `IsExpensive` in
    xla/service/instruction_fusion.cc.
    """

    FREE = auto()
    CHEAP = auto()
    EXPENSIVE = auto()


@dataclass(frozen=True, slots=True)
class Collective:
    """The communication of an op between devices.

    kind: the name of the collective, "all_gather" say; "all_slice" only drops data, "reshard" is any.
    axes: the attribute that holds the mesh axes; empty if there is none.
    names_devices: whether the op lists groups of devices instead of mesh axes.
    """

    kind: str
    axes: str = ""
    names_devices: bool = False

    @property
    def reduces(self) -> bool:
        """Returns whether data of several devices is combined."""
        return self.kind in ("all_reduce", "reduce_scatter")


@dataclass(frozen=True)
class OpSpec:
    """One row of the op table.

    name: as in MLIR; a custom call's is "stablehlo.custom_call@TARGET", that of an op that only HLO has
        "hlo.OPCODE".
    family: see `Family`; ask `kind`.

    Indexing:
    maps: makes the maps of a record; None: what the op reads is not stated.
    is_elementwise: whether MLIR gives the op a trait Elementwise or BroadcastingElementwise; a function where
        that depends on types.
    closer: maps for analyses, where they are tighter than those that sharding rules derive from. Several
        groups may hold the same result: it reads the union.
    superset: the operands whose maps hold elements that are not read after all; None: there are none.
    arity: the number of operands of an elementwise op that HLO has, with `-` for `_`; else 0.
    is_wire: whether the op passes values of its operands on and computes nothing, so that analyses of maps
        connect users and producers across it.

    Sharding:
    rule_source: see `RuleSource`.
    known_since: the behaviour with which Shardy propagates through the op without a rule; None: none.
    rule: the sharding rule, where the op has one of its own rather than one that follows from its maps.
    policy: Shardy's decisions about the rule beyond the maps.
    keeps_divisible: whether the shardings of its results must divide their dimensions evenly.
    role: its priority class; that of an elementwise op is PASS_THROUGH.
    context: the attribute that the record of an op gets from what surrounds the op: "context.combiner".
    collective: how it moves data between devices; None: it does not.

    Values:
    preserves_constants: whether results are constant if all operands are; None: if it is elementwise.
    needs_static_operand: whether a dynamic dimension of its operand may make it invalid.
    combiner: its row as the combiner of reductions; None: it is none that engines know.
    is_folded: whether XLA computes its result before propagation if its operands are known integers, or
        known elements that it moves.
    moves_elements: whether each element of the result is an element of the first operand.
    linear: see `Linear`; ask `linearity`.

    Execution:
    control: how its regions or callees run.
    storage: where its results lie in memory. memory: see `Memory`. repeat: see `Repeat`.
    work: its arithmetic; None: one operation for each element if it is elementwise, else nothing.
    """

    name: str
    maps: Maps | None = None
    is_elementwise: bool | Callable[[OpRecord], bool] = False
    closer: Maps | None = None
    superset: Callable[[OpRecord], frozenset[int]] | None = None
    arity: int = 0
    is_wire: bool = False
    rule_source: RuleSource = RuleSource.MAPS
    known_since: Behaviour | None = None
    rule: Callable[[OpRecord], ShardingRule | None] | None = None
    policy: Policy = BY_MAPS
    keeps_divisible: bool = False
    role: Role = Role.OTHER
    context: str = ""
    collective: Collective | None = None
    preserves_constants: bool | None = None
    needs_static_operand: bool = False
    combiner: Combiner | None = None
    is_folded: bool = False
    moves_elements: bool = False
    linear: Linear = Linear.NO
    control: Control = Control.NONE
    storage: Storage = Storage.NEW
    memory: Memory = Memory.SAME
    repeat: Repeat = Repeat.CHEAP
    work: WorkOf | None = None
    family: Family = Family.OTHER

    @property
    def kind(self) -> Family:
        """Returns its family; one that is elementwise for all types needs none."""
        return Family.ELEMENTWISE if self.is_elementwise is True else self.family

    def elementwise(self, record: OpRecord) -> bool:
        """Returns whether each element of a result depends on the same element of the operands only."""
        return self.is_elementwise(record) if callable(self.is_elementwise) else self.is_elementwise

    def is_order_free(self, element_type: str) -> bool:
        """Returns whether reductions of elements of that type with it count as independent of order."""
        return self.combiner is not None and self.combiner.is_order_free(element_type)

    @property
    def linearity(self) -> Linear:
        """Returns the operands in which it is linear; an op that moves elements is linear in its first."""
        return Linear.FIRST if self.moves_elements else self.linear

    @property
    def makes_constants(self) -> bool:
        """Returns whether results are constant if all operands are, for the types that keep the op valid."""
        return bool(self.is_elementwise) if self.preserves_constants is None else self.preserves_constants
