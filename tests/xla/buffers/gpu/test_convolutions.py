"""Convolutions by cuDNN, beside the temporaries that XLA:GPU allocated for them on an H100."""

from __future__ import annotations

import pytest

from shardy_py import Program, propagate

_LAST = "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]"
_FIRST = "[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]"
_SEQUENCE = "[b, 0, f]x[0, i, o]->[b, 0, f]"


def _temporaries(text: str) -> float:
    """In MiB."""
    result = propagate(Program.parse(text, as_compiled=True), progress=False)
    estimate = result.memory("h100").estimate
    assert estimate is not None
    return estimate.temporaries / 2**20


def _convolution(image: str, kernel: str, made: str, numbers: str, window: str, groups: int = 1) -> str:
    free = ", ".join(["{}"] * image.count("x"))
    return f"""
      sdy.mesh @mesh = <["x"=8]>
      func.func @main(%x: tensor<{image}xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}, {free}]>}},
                      %w: tensor<{kernel}xf32>) -> tensor<{made}xf32> {{
        %0 = stablehlo.convolution(%x, %w) dim_numbers = {numbers}, window = {{{window}}}
          {{batch_group_count = 1 : i64, feature_group_count = {groups} : i64}}
          : (tensor<{image}xf32>, tensor<{kernel}xf32>) -> tensor<{made}xf32>
        return %0 : tensor<{made}xf32>
      }}"""


@pytest.mark.parametrize(
    ("text", "allocated"),
    [
        (
            _convolution(
                "64x64x64x64", "3x3x64x128", "64x64x64x128", _LAST, "stride = [1, 1], pad = [[1, 1], [1, 1]]"
            ),
            0.281,
        ),
        (
            _convolution(
                "64x224x224x3", "7x7x3x64", "64x112x112x64", _LAST, "stride = [2, 2], pad = [[2, 3], [2, 3]]"
            ),
            4.837,
        ),
        (
            _convolution(
                *("64x32x32x128", "3x3x128x64", "64x64x64x64", _LAST),
                "stride = [1, 1], pad = [[2, 1], [2, 1]], lhs_dilate = [2, 2]",
            ),
            17.297,
        ),
        (
            _convolution(
                "64x64x64x64", "128x64x3x3", "64x128x64x64", _FIRST, "stride = [1, 1], pad = [[1, 1], [1, 1]]"
            ),
            16.281,
        ),
        (
            _convolution(
                "64x1024x512", "4x1x512", "64x1024x512", _SEQUENCE, "stride = [1], pad = [[3, 0]]", 512
            ),
            16.055,
        ),
    ],
    ids=["plain", "padded", "spread", "features_first", "causal"],
)
def test_images_are_padded_and_copied(text: str, allocated: float) -> None:
    """Where padding differs or elements are apart, and where features are before the spatial dimensions."""
    assert _temporaries(text) == pytest.approx(allocated, abs=0.01)


_GRADIENTS = """
  sdy.mesh @mesh = <["x"=8]>
  func.func @main(%x: tensor<64x64x64x64xf32>
                    {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}, {{}}, {{}}, {{}}]>}},
                  %w: tensor<{size}x{size}x64x128xf32>)
      -> (tensor<64x64x64x64xf32>, tensor<{size}x{size}x64x128xf32>) {{
    %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
      window = {{stride = [{stride}, {stride}], pad = [{forward}, {forward}]}}
      {{batch_group_count = 1 : i64, feature_group_count = 1 : i64}}
      : (tensor<64x64x64x64xf32>, tensor<{size}x{size}x64x128xf32>) -> tensor<64x{made}x{made}x128xf32>
    %two = stablehlo.constant dense<2.0> : tensor<64x{made}x{made}x128xf32>
    %1 = stablehlo.multiply %0, %two : tensor<64x{made}x{made}x128xf32>
    %2 = stablehlo.convolution(%x, %1) dim_numbers = [f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f],
      window = {{stride = [1, 1], pad = [{kernel}, {kernel}], rhs_dilate = [{stride}, {stride}]}}
      {{batch_group_count = 1 : i64, feature_group_count = 1 : i64}}
      : (tensor<64x64x64x64xf32>, tensor<64x{made}x{made}x128xf32>) -> tensor<{size}x{size}x64x128xf32>
    %3 = stablehlo.reverse %w, dims = [0, 1] : tensor<{size}x{size}x64x128xf32>
    %4 = stablehlo.convolution(%1, %3) dim_numbers = [b, 0, 1, f]x[0, 1, o, i]->[b, 0, 1, f],
      window = {{stride = [1, 1], pad = [{image}, {image}], lhs_dilate = [{stride}, {stride}]}}
      {{batch_group_count = 1 : i64, feature_group_count = 1 : i64}}
      : (tensor<64x{made}x{made}x128xf32>, tensor<{size}x{size}x64x128xf32>) -> tensor<64x64x64x64xf32>
    return %4, %2 : tensor<64x64x64x64xf32>, tensor<{size}x{size}x64x128xf32>
  }}"""


@pytest.mark.parametrize(
    ("sizes", "allocated"),
    [
        ({"size": 3, "stride": 1, "made": 64, "forward": [1, 1], "kernel": [1, 1], "image": [1, 1]}, 16.282),
        ({"size": 3, "stride": 2, "made": 32, "forward": [0, 1], "kernel": [0, 1], "image": [2, 1]}, 8.534),
        ({"size": 3, "stride": 2, "made": 32, "forward": [1, 1], "kernel": [1, 0], "image": [1, 2]}, 4.282),
    ],
    ids=["plain", "padded behind", "padded on both sides"],
)
def test_gradients_share_what_is_padded(sizes: dict[str, object], allocated: float) -> None:
    """One padded image for the result and the gradient of the kernel; that of the image is cut."""
    assert _temporaries(_GRADIENTS.format(**sizes)) == pytest.approx(allocated, abs=0.02)


def _loop(inner: str, count: int) -> str:
    """A loop of so many steps, which carries an image %x, as a function of it and of a kernel %w."""
    return f"""
        %first = stablehlo.constant dense<0> : tensor<i32>
        %made:2 = stablehlo.while(%i = %first, %c = %x) : tensor<i32>, tensor<2x32x32x256xf32>
        cond {{
          %last = stablehlo.constant dense<{count}> : tensor<i32>
          %less = stablehlo.compare LT, %i, %last : (tensor<i32>, tensor<i32>) -> tensor<i1>
          stablehlo.return %less : tensor<i1>
        }} do {{
          {inner}
          %one = stablehlo.constant dense<1> : tensor<i32>
          %next = stablehlo.add %i, %one : tensor<i32>
          stablehlo.return %next, %t : tensor<i32>, tensor<2x32x32x256xf32>
        }}
        return %made#1 : tensor<2x32x32x256xf32>"""


_STEP = f"""%d = stablehlo.convolution(%c, %k) dim_numbers = {_LAST},
            window = {{stride = [1, 1], pad = [[1, 1], [1, 1]]}}
            {{batch_group_count = 1 : i64, feature_group_count = 1 : i64}}
            : (tensor<2x32x32x256xf32>, tensor<3x3x256x256xf32>) -> tensor<2x32x32x256xf32>
          %t = stablehlo.tanh %d : tensor<2x32x32x256xf32>"""
_SLICED = """%zero = stablehlo.constant dense<0> : tensor<i32>
          %s = stablehlo.dynamic_slice %w, %i, %zero, %zero, %zero, %zero, sizes = [1, 3, 3, 256, 256]
            : (tensor<4x3x3x256x256xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>)
            -> tensor<1x3x3x256x256xf32>
          %k = stablehlo.reshape %s : (tensor<1x3x3x256x256xf32>) -> tensor<3x3x256x256xf32>
          """
_WHOLE = """%k = stablehlo.reshape %w : (tensor<3x3x256x256xf32>) -> tensor<3x3x256x256xf32>
          """


@pytest.mark.parametrize("is_nested", [False, True])
@pytest.mark.parametrize(
    ("kernel", "step", "allocated"),
    [("3x3x256x256", _WHOLE + _STEP, 4456964), ("4x3x3x256x256", _SLICED + _STEP, 13894148)],
)
def test_what_a_loop_only_reads_is_copied_before_it(
    kernel: str, step: str, allocated: int, *, is_nested: bool
) -> None:
    types = f"(%x: tensor<2x32x32x256xf32>, %w: tensor<{kernel}xf32>) -> tensor<2x32x32x256xf32>"
    text = f"func.func @main{types} {{ {_loop(step, 4)} }}"
    if is_nested:
        called = f"%t = func.call @steps(%c, %w) : {types.replace('%x: ', '').replace('%w: ', '')}"
        text = f"{text.replace('@main', 'private @steps')}\nfunc.func @main{types} {{ {_loop(called, 8)} }}"
    assert _temporaries(text) * 2**20 == pytest.approx(allocated, abs=1024)
