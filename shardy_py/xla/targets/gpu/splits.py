"""Products that XLA:GPU splits along what they contract, where they have few tiles.

Parts of what is contracted are separate products, which are added up. Source: openxla/xla,
xla/backends/gpu/transforms/splitk_rewriter.cc. Not here: which values the kernels read (`operands.py`).
"""

from __future__ import annotations

from math import ceil, prod

from shardy_py.base.records import dataclass
from shardy_py.base.session import SESSION
from shardy_py.ops.dimensions import DotDimensions
from shardy_py.xla.targets.gpu.costs import H100, GpuDescription
from shardy_py.xla.targets.gpu.graph import GpuGraph, Shape
from shardy_py.xla.targets.parts import bits, elements_of

_TILE = 128
_FEW = 100
"""The elements of both matrices from which on a kernel of a product is made for it."""
_MULTIPLE = 8
"""The elements of which dimensions of products of 16 bits are multiples."""
_ALIGNED_BITS = 128
"""The bits of which parts of what is contracted are multiples."""
_WORKSPACE = 32 << 20


@dataclass(frozen=True, slots=True)
class SplitWeights:
    """The weights by which XLA compares products that are split, measured by its authors on a GPU."""

    compute: float = 100.0
    memory: float = 0.194136
    reduction: float = 193.1384
    launch: float = 4.36e7


_HOPPER = SplitWeights()


@dataclass(frozen=True, slots=True)
class ProductSizes:
    """Sizes of a product: batches, rows, columns, what is contracted; bits of elements.

    >>> ProductSizes(1, 512, 512, 512, 16, 16, 16).parts()
    4
    """

    batch: int
    rows: int
    columns: int
    contracted: int
    left_bits: int
    right_bits: int
    made_bits: int

    def parts(self, gpu: GpuDescription = H100, weights: SplitWeights = _HOPPER) -> int:
        """The parts of what is contracted that are separate products; 1: it is not split."""
        return _parts_of(self, gpu, weights)

    def padded(self, parts: int) -> int:
        """The size of what is contracted with padding: a multiple of the parts, each of 16 bytes or more.

        >>> ProductSizes(1, 125, 256, 516, 32, 32, 32).padded(8)
        544
        """
        whole = parts * _ALIGNED_BITS // min(_ALIGNED_BITS, self.left_bits, self.right_bits)
        return -(-self.contracted // whole) * whole

    @property
    def workspace(self) -> int:
        """The bytes of memory that cuBLAS may use beside, for a small product of 16 bits.

        It computes those that are large enough once their dimensions are padded.
        Source: openxla/xla, xla/service/gpu/transforms/cublas_pad_for_gemms.cc, gemm_rewriter.cc there.
        """
        if self.batch > 1:
            return 0
        sizes = self.rows, self.columns, self.contracted
        padded = [-(-size // _MULTIPLE) * _MULTIPLE for size in sizes]
        return _WORKSPACE if _elements(*sizes) < _FEW <= _elements(*padded) else 0

    def cost(self, parts: int, gpu: GpuDescription, weights: SplitWeights) -> float:
        """The time of a product in so many parts, in a unit of XLA's own."""
        depth, batch = -(-self.contracted // parts), self.batch * parts
        tile = min(self.rows, _TILE) * min(self.columns, _TILE)
        tiles = batch * ceil(self.rows / _TILE) * ceil(self.columns / _TILE)
        waves = max(1.0, tiles * tile / (gpu.cores * _TILE * _TILE))
        compute = 2 * tile * depth * waves * weights.compute
        size = self.rows * self.columns
        given = self.rows * self.left_bits + self.columns * self.right_bits
        read = given * self.contracted * self.batch / 8
        partial = size * batch * 4
        written = partial if parts > 1 else size * batch * self.made_bits / 8
        cost = max(compute, (read + written) * weights.memory)
        if parts == 1:
            return cost
        added = partial + self.batch * size * self.made_bits / 8
        return cost + weights.launch + added * weights.reduction


@SESSION.cache(1024)
def _parts_of(sizes: ProductSizes, gpu: GpuDescription, weights: SplitWeights) -> int:
    """The splits by sizes: products in equal layers have equal ones."""
    return min((1 << n for n in range(12)), key=lambda parts: sizes.cost(parts, gpu, weights))


def _elements(rows: int, columns: int, contracted: int) -> int:
    return (rows + columns) * contracted


def sizes_of(graph: GpuGraph, product: int) -> ProductSizes | None:
    """The sizes of a product; None if they are not known."""
    step, made = graph.step(product), graph.types[product]
    left, right = (graph.types[each] for each in graph.reads[product][:2])
    if made is None or left is None or right is None:
        return None
    if step is None:  # of rows in groups: their elements in all groups are contracted
        rows, columns = made.shape[0] or 0, made.shape[-1] or 0
        depth = elements_of(left) // max(rows, 1)
        if made.rank != 2 or not (rows and columns and depth):
            return None
        return ProductSizes(1, rows, columns, depth, bits(left), bits(right), bits(made))
    found = _dimensions(graph, product, DotDimensions.of(step.record.attributes))
    if found is None or "i32" in (left.element, right.element):
        return None
    left_bits, right_bits = (_bits(graph, each) for each in graph.reads[product][:2])
    return ProductSizes(*found, left_bits, right_bits, bits(made))


def _dimensions(graph: GpuGraph, product: int, numbers: DotDimensions) -> tuple[int, int, int, int] | None:
    """The batches, rows, columns, and what is contracted of a product, by an operand of the form it has.

    None if neither has it, or there are no elements.
    """
    step, made = graph.step(product), graph.elements(product)
    for side, operand in enumerate(graph.reads[product][:2]):
        shape = shape_read(graph, product, operand)
        given = None if step is None else step.record.operands[side]
        if shape is None or given is None or len(shape) != given.rank or 0 in shape or not made:
            continue
        batch, depth = (
            prod(shape[d] or 0 for d in of[side]) for of in (numbers.batching, numbers.contracting)
        )
        free = prod(size or 0 for size in shape) // (batch * depth)
        other = made // (batch * free)
        return (batch, free, other, depth) if side == 0 else (batch, other, free, depth)
    return None


def _bits(graph: GpuGraph, number: int) -> int:
    """The bits of an element of an operand before it is converted."""
    while len(graph.reads[number]) == 1 and graph.is_elementwise(number):
        (number,) = graph.reads[number]
    type_ = graph.types[number]
    return 16 if type_ is None else bits(type_)


def shape_read(graph: GpuGraph, number: int, operand: int) -> Shape | None:
    """The shape in which an op reads an operand; None if not known."""
    type_ = graph.types[operand]
    return graph.shapes.get((number, operand), None if type_ is None else type_.shape)
