"foo.op"() : () -> (i1)
// ==>
module {
  %0 = "foo.op"() : () -> i1
}
// -----
"foo.op"() : () -> (i2)
// ==>
module {
  %0 = "foo.op"() : () -> i2
}
// -----
"foo.op"() : () -> (i4)
// ==>
module {
  %0 = "foo.op"() : () -> i4
}
// -----
"foo.op"() : () -> (i7)
// ==>
module {
  %0 = "foo.op"() : () -> i7
}
// -----
"foo.op"() : () -> (si5)
// ==>
module {
  %0 = "foo.op"() : () -> si5
}
// -----
"foo.op"() : () -> (ui64)
// ==>
module {
  %0 = "foo.op"() : () -> ui64
}
// -----
"foo.op"() : () -> (i16777215)
// ==>
module {
  %0 = "foo.op"() : () -> i16777215
}
// -----
"foo.op"() : () -> (i16777216)
// ==>
ERR loc("-":1:21): integer bitwidth is limited to 16777215 bits
// -----
"foo.op"() : () -> (i0)
// ==>
module {
  %0 = "foo.op"() : () -> i0
}
// -----
"foo.op"() : () -> (i01)
// ==>
module {
  %0 = "foo.op"() : () -> i1
}
// -----
"foo.op"() : () -> (int)
// ==>
ERR loc("-":1:21): expected non-function type
// -----
"foo.op"() : () -> (index)
// ==>
module {
  %0 = "foo.op"() : () -> index
}
// -----
"foo.op"() : () -> (none)
// ==>
module {
  %0 = "foo.op"() : () -> none
}
// -----
"foo.op"() : () -> (f16)
// ==>
module {
  %0 = "foo.op"() : () -> f16
}
// -----
"foo.op"() : () -> (bf16)
// ==>
module {
  %0 = "foo.op"() : () -> bf16
}
// -----
"foo.op"() : () -> (f32)
// ==>
module {
  %0 = "foo.op"() : () -> f32
}
// -----
"foo.op"() : () -> (f64)
// ==>
module {
  %0 = "foo.op"() : () -> f64
}
// -----
"foo.op"() : () -> (f80)
// ==>
module {
  %0 = "foo.op"() : () -> f80
}
// -----
"foo.op"() : () -> (f128)
// ==>
module {
  %0 = "foo.op"() : () -> f128
}
// -----
"foo.op"() : () -> (tf32)
// ==>
module {
  %0 = "foo.op"() : () -> tf32
}
// -----
"foo.op"() : () -> (f8E5M2)
// ==>
module {
  %0 = "foo.op"() : () -> f8E5M2
}
// -----
"foo.op"() : () -> (f8E4M3)
// ==>
module {
  %0 = "foo.op"() : () -> f8E4M3
}
// -----
"foo.op"() : () -> (f8E4M3FN)
// ==>
module {
  %0 = "foo.op"() : () -> f8E4M3FN
}
// -----
"foo.op"() : () -> (f8E5M2FNUZ)
// ==>
module {
  %0 = "foo.op"() : () -> f8E5M2FNUZ
}
// -----
"foo.op"() : () -> (f8E4M3FNUZ)
// ==>
module {
  %0 = "foo.op"() : () -> f8E4M3FNUZ
}
// -----
"foo.op"() : () -> (f8E4M3B11FNUZ)
// ==>
module {
  %0 = "foo.op"() : () -> f8E4M3B11FNUZ
}
// -----
"foo.op"() : () -> (f8E3M4)
// ==>
module {
  %0 = "foo.op"() : () -> f8E3M4
}
// -----
"foo.op"() : () -> (f8E8M0FNU)
// ==>
module {
  %0 = "foo.op"() : () -> f8E8M0FNU
}
// -----
"foo.op"() : () -> (f6E2M3FN)
// ==>
module {
  %0 = "foo.op"() : () -> f6E2M3FN
}
// -----
"foo.op"() : () -> (f6E3M2FN)
// ==>
module {
  %0 = "foo.op"() : () -> f6E3M2FN
}
// -----
"foo.op"() : () -> (f4E2M1FN)
// ==>
module {
  %0 = "foo.op"() : () -> f4E2M1FN
}
// -----
"foo.op"() : () -> (f8)
// ==>
ERR loc("-":1:21): expected non-function type
// -----
"foo.op"() : () -> (complex<f32>)
// ==>
module {
  %0 = "foo.op"() : () -> complex<f32>
}
// -----
"foo.op"() : () -> (complex<i32>)
// ==>
module {
  %0 = "foo.op"() : () -> complex<i32>
}
// -----
"foo.op"() : () -> (complex<index>)
// ==>
ERR loc("-":1:29): invalid element type for complex
// -----
"foo.op"() : () -> (complex<tensor<f32>>)
// ==>
ERR loc("-":1:29): invalid element type for complex
// -----
"foo.op"() : () -> (complex<f32)
// ==>
ERR loc("-":1:32): expected '>' in complex type
// -----
"foo.op"() : () -> (tuple<>)
// ==>
module {
  %0 = "foo.op"() : () -> tuple<>
}
// -----
"foo.op"() : () -> (tuple<i32>)
// ==>
module {
  %0 = "foo.op"() : () -> tuple<i32>
}
// -----
"foo.op"() : () -> (tuple<i32, f32, tensor<2xf32>, tuple<>>)
// ==>
module {
  %0 = "foo.op"() : () -> tuple<i32, f32, tensor<2xf32>, tuple<>>
}
// -----
"foo.op"() : () -> (tuple<i32,>)
// ==>
ERR loc("-":1:31): expected non-function type
// -----
"foo.op"() : () -> (tensor<f32>)
// ==>
module {
  %0 = "foo.op"() : () -> tensor<f32>
}
// -----
"foo.op"() : () -> (tensor<2xf32>)
// ==>
module {
  %0 = "foo.op"() : () -> tensor<2xf32>
}
// -----
"foo.op"() : () -> (tensor<2x3x4xf32>)
// ==>
module {
  %0 = "foo.op"() : () -> tensor<2x3x4xf32>
}
// -----
"foo.op"() : () -> (tensor<?x2x?xf32>)
// ==>
module {
  %0 = "foo.op"() : () -> tensor<?x2x?xf32>
}
// -----
"foo.op"() : () -> (tensor<*xf32>)
// ==>
module {
  %0 = "foo.op"() : () -> tensor<*xf32>
}
// -----
"foo.op"() : () -> (tensor<*x*xf32>)
// ==>
ERR loc("-":1:30): expected non-function type
// -----
"foo.op"() : () -> (tensor<0xf32>)
// ==>
module {
  %0 = "foo.op"() : () -> tensor<0xf32>
}
// -----
"foo.op"() : () -> (tensor<2xi32, "enc">)
// ==>
module {
  %0 = "foo.op"() : () -> tensor<2xi32, "enc">
}
// -----
"foo.op"() : () -> (tensor<2xi32, 5 : i32>)
// ==>
module {
  %0 = "foo.op"() : () -> tensor<2xi32, 5 : i32>
}
// -----
"foo.op"() : () -> (tensor<2xi32, {a = 1}>)
// ==>
module {
  %0 = "foo.op"() : () -> tensor<2xi32, {a = 1 : i64}>
}
// -----
"foo.op"() : () -> (tensor<?xf32, #foo.bar<1>>)
// ==>
module {
  %0 = "foo.op"() : () -> tensor<?xf32, #foo.bar<1>>
}
// -----
"foo.op"() : () -> (tensor<*xf32, "enc">)
// ==>
ERR loc("-":1:41): cannot apply encoding to unranked tensor
// -----
"foo.op"() : () -> (tensor<2x f32>)
// ==>
module {
  %0 = "foo.op"() : () -> tensor<2xf32>
}
// -----
"foo.op"() : () -> (tensor<2 x 3 x f32>)
// ==>
module {
  %0 = "foo.op"() : () -> tensor<2x3xf32>
}
// -----
"foo.op"() : () -> (tensor< 2x3xf32 >)
// ==>
module {
  %0 = "foo.op"() : () -> tensor<2x3xf32>
}
// -----
"foo.op"() : () -> (tensor<2x3>)
// ==>
ERR loc("-":1:31): expected 'x' in dimension list
// -----
"foo.op"() : () -> (tensor<2xx3xf32>)
// ==>
ERR loc("-":1:30): expected non-function type
// -----
"foo.op"() : () -> (tensor<-1xf32>)
// ==>
ERR loc("-":1:28): expected non-function type
// -----
"foo.op"() : () -> (tensor<2x-1xf32>)
// ==>
ERR loc("-":1:30): expected non-function type
// -----
"foo.op"() : () -> (tensor<2.5xf32>)
// ==>
ERR loc("-":1:28): expected non-function type
// -----
"foo.op"() : () -> (tensor<0x4xf32>)
// ==>
module {
  %0 = "foo.op"() : () -> tensor<0x4xf32>
}
// -----
"foo.op"() : () -> (tensor<0x10xf32>)
// ==>
module {
  %0 = "foo.op"() : () -> tensor<0x10xf32>
}
// -----
"foo.op"() : () -> (tensor<0xF32>)
// ==>
ERR loc("-":1:30): expected non-function type
// -----
"foo.op"() : () -> (tensor<1x0x2xf32>)
// ==>
module {
  %0 = "foo.op"() : () -> tensor<1x0x2xf32>
}
// -----
"foo.op"() : () -> (tensor<99999999999999999999xf32>)
// ==>
ERR loc("-":1:28): invalid dimension
// -----
"foo.op"() : () -> (tensor<9223372036854775807xf32>)
// ==>
module {
  %0 = "foo.op"() : () -> tensor<9223372036854775807xf32>
}
// -----
"foo.op"() : () -> (tensor<9223372036854775808xf32>)
// ==>
ERR loc("-":1:28): invalid dimension
// -----
"foo.op"() : () -> (tensor<tensor<f32>>)
// ==>
ERR loc("-":1:28): invalid tensor element type
// -----
"foo.op"() : () -> (tensor<2xtensor<f32>>)
// ==>
ERR loc("-":1:30): invalid tensor element type
// -----
"foo.op"() : () -> (tensor<2xtuple<>>)
// ==>
ERR loc("-":1:30): invalid tensor element type
// -----
"foo.op"() : () -> (tensor<2xnone>)
// ==>
ERR loc("-":1:30): invalid tensor element type
// -----
"foo.op"() : () -> (tensor<2xindex>)
// ==>
module {
  %0 = "foo.op"() : () -> tensor<2xindex>
}
// -----
"foo.op"() : () -> (tensor<2xcomplex<f64>>)
// ==>
module {
  %0 = "foo.op"() : () -> tensor<2xcomplex<f64>>
}
// -----
"foo.op"() : () -> (tensor<2xvector<2xf32>>)
// ==>
module {
  %0 = "foo.op"() : () -> tensor<2xvector<2xf32>>
}
// -----
"foo.op"() : () -> (tensor<2xmemref<2xf32>>)
// ==>
ERR loc("-":1:30): invalid tensor element type
// -----
"foo.op"() : () -> (tensor<2x!foo.s>)
// ==>
module {
  %0 = "foo.op"() : () -> tensor<2x!foo.s>
}
// -----
"foo.op"() : () -> (tensor<2x!foo.s<1>>)
// ==>
module {
  %0 = "foo.op"() : () -> tensor<2x!foo.s<1>>
}
// -----
"foo.op"() : () -> (tensor<2x() -> ()>)
// ==>
ERR loc("-":1:30): invalid tensor element type
// -----
"foo.op"() : () -> (tensor<2xf32)
// ==>
ERR loc("-":1:33): expected '>' in tensor type
// -----
"foo.op"() : () -> (tensor<)
// ==>
ERR loc("-":1:28): expected non-function type
// -----
"foo.op"() : () -> (tensor)
// ==>
ERR loc("-":1:27): expected '<' in tensor type
// -----
"foo.op"() : () -> (tensor<2xf32,>)
// ==>
module {
  %0 = "foo.op"() : () -> tensor<2xf32>
}
// -----
"foo.op"() : () -> (tensor<2xf32, >)
// ==>
module {
  %0 = "foo.op"() : () -> tensor<2xf32>
}
// -----
"foo.op"() : () -> (tensor<xf32>)
// ==>
ERR loc("-":1:28): expected non-function type
// -----
"foo.op"() : () -> (tensor<2xfoo>)
// ==>
ERR loc("-":1:30): expected non-function type
// -----
"foo.op"() : () -> (tensor<2xf33>)
// ==>
ERR loc("-":1:30): expected non-function type
// -----
"foo.op"() : () -> (vector<4xf32>)
// ==>
module {
  %0 = "foo.op"() : () -> vector<4xf32>
}
// -----
"foo.op"() : () -> (vector<2x3xi32>)
// ==>
module {
  %0 = "foo.op"() : () -> vector<2x3xi32>
}
// -----
"foo.op"() : () -> (vector<f32>)
// ==>
module {
  %0 = "foo.op"() : () -> vector<f32>
}
// -----
"foo.op"() : () -> (vector<[4]xf32>)
// ==>
module {
  %0 = "foo.op"() : () -> vector<[4]xf32>
}
// -----
"foo.op"() : () -> (vector<2x[4]xf32>)
// ==>
module {
  %0 = "foo.op"() : () -> vector<2x[4]xf32>
}
// -----
"foo.op"() : () -> (vector<?xf32>)
// ==>
ERR loc("-":1:28): expected non-function type
// -----
"foo.op"() : () -> (vector<0xf32>)
// ==>
ERR loc("-":1:21): vector types must have positive constant sizes but got 0
// -----
"foo.op"() : () -> (vector<4xtensor<f32>>)
// ==>
ERR loc("-":1:21): failed to verify 'elementType': VectorElementTypeInterface instance
// -----
"foo.op"() : () -> (vector<4x!foo.s>)
// ==>
ERR loc("-":1:21): failed to verify 'elementType': VectorElementTypeInterface instance
// -----
"foo.op"() : () -> (vector<4xindex>)
// ==>
module {
  %0 = "foo.op"() : () -> vector<4xindex>
}
// -----
"foo.op"() : () -> (vector<4xcomplex<f32>>)
// ==>
ERR loc("-":1:21): failed to verify 'elementType': VectorElementTypeInterface instance
// -----
"foo.op"() : () -> (memref<2xf32>)
// ==>
module {
  %0 = "foo.op"() : () -> memref<2xf32>
}
// -----
"foo.op"() : () -> (memref<f32>)
// ==>
module {
  %0 = "foo.op"() : () -> memref<f32>
}
// -----
"foo.op"() : () -> (memref<?x?xf32>)
// ==>
module {
  %0 = "foo.op"() : () -> memref<?x?xf32>
}
// -----
"foo.op"() : () -> (memref<*xf32>)
// ==>
module {
  %0 = "foo.op"() : () -> memref<*xf32>
}
// -----
"foo.op"() : () -> (memref<2xf32, 1>)
// ==>
module {
  %0 = "foo.op"() : () -> memref<2xf32, 1>
}
// -----
"foo.op"() : () -> (memref<2xf32, 1 : i32>)
// ==>
module {
  %0 = "foo.op"() : () -> memref<2xf32, 1 : i32>
}
// -----
"foo.op"() : () -> (memref<*xf32, 1>)
// ==>
module {
  %0 = "foo.op"() : () -> memref<*xf32, 1>
}
// -----
"foo.op"() : () -> (memref<2xf32, "space">)
// ==>
module {
  %0 = "foo.op"() : () -> memref<2xf32, "space">
}
// -----
"foo.op"() : () -> (memref<2xf32, affine_map<(d0) -> (d0)>>)
// ==>
module {
  %0 = "foo.op"() : () -> memref<2xf32>
}
// -----
"foo.op"() : () -> (memref<2xf32, affine_map<(d0) -> (d0 * 2)>>)
// ==>
#map = affine_map<(d0) -> (d0 * 2)>
module {
  %0 = "foo.op"() : () -> memref<2xf32, #map>
}
// -----
"foo.op"() : () -> (memref<2xf32, affine_map<(d0) -> (d0 * 2)>, 3>)
// ==>
#map = affine_map<(d0) -> (d0 * 2)>
module {
  %0 = "foo.op"() : () -> memref<2xf32, #map, 3>
}
// -----
"foo.op"() : () -> (memref<2xf32, strided<[2], offset: 1>>)
// ==>
module {
  %0 = "foo.op"() : () -> memref<2xf32, strided<[2], offset: 1>>
}
// -----
"foo.op"() : () -> (memref<2xf32, strided<[1]>>)
// ==>
module {
  %0 = "foo.op"() : () -> memref<2xf32, strided<[1]>>
}
// -----
"foo.op"() : () -> (memref<?xf32, strided<[?], offset: ?>, 2>)
// ==>
module {
  %0 = "foo.op"() : () -> memref<?xf32, strided<[?], offset: ?>, 2>
}
// -----
"foo.op"() : () -> (memref<2xtensor<f32>>)
// ==>
ERR loc("-":1:30): invalid memref element type
// -----
"foo.op"() : () -> (memref<2xindex>)
// ==>
module {
  %0 = "foo.op"() : () -> memref<2xindex>
}
// -----
"foo.op"() : () -> (memref<2xvector<2xf32>>)
// ==>
module {
  %0 = "foo.op"() : () -> memref<2xvector<2xf32>>
}
// -----
"foo.op"() : () -> (memref<2xmemref<2xf32>>)
// ==>
module {
  %0 = "foo.op"() : () -> memref<2xmemref<2xf32>>
}
// -----
"foo.op"() : () -> (memref<*x2xf32>)
// ==>
ERR loc("-":1:30): expected non-function type
// -----
"foo.op"() : () -> (() -> ())
// ==>
module {
  %0 = "foo.op"() : () -> (() -> ())
}
// -----
"foo.op"() : () -> ((i32) -> i32)
// ==>
module {
  %0 = "foo.op"() : () -> ((i32) -> i32)
}
// -----
"foo.op"() : () -> ((i32) -> (i32, i32))
// ==>
module {
  %0 = "foo.op"() : () -> ((i32) -> (i32, i32))
}
// -----
"foo.op"() : () -> (((i32) -> i32) -> i32)
// ==>
module {
  %0 = "foo.op"() : () -> (((i32) -> i32) -> i32)
}
// -----
"foo.op"() : () -> ((i32) -> ((i32) -> i32))
// ==>
module {
  %0 = "foo.op"() : () -> ((i32) -> ((i32) -> i32))
}
// -----
"foo.op"() : () -> (() -> (() -> ()))
// ==>
module {
  %0 = "foo.op"() : () -> (() -> (() -> ()))
}
// -----
"foo.op"() : () -> (() -> () -> ())
// ==>
ERR loc("-":1:29): expected ')'
// -----
"foo.op"() : () -> (!foo.bar)
// ==>
module {
  %0 = "foo.op"() : () -> !foo.bar
}
// -----
"foo.op"() : () -> (!foo.bar<a, b<c>>)
// ==>
module {
  %0 = "foo.op"() : () -> !foo.bar<a, b<c>>
}
// -----
"foo.op"() : () -> (!foo<bar>)
// ==>
module {
  %0 = "foo.op"() : () -> !foo.bar
}
// -----
"foo.op"() : () -> (!foo<"bar">)
// ==>
module {
  %0 = "foo.op"() : () -> !foo<"bar">
}
// -----
"foo.op"() : () -> (!foo<bar baz [1, 2]>)
// ==>
module {
  %0 = "foo.op"() : () -> !foo<bar baz [1, 2]>
}
// -----
"foo.op"() : () -> (!foo)
// ==>
ERR loc("-":1:25): undefined symbol alias id 'foo'
// -----
"foo.op"() : () -> (!foo.bar<)
// ==>
ERR loc("-":1:29): unbalanced '<' character in pretty dialect name
// -----
"foo.op"() : () -> (!foo.bar<a]>)
// ==>
ERR loc("-":1:29): unbalanced '<' character in pretty dialect name
// -----
"foo.op"() : () -> (!"a")
// ==>
ERR loc("-":1:21): invalid type identifier
// -----
"foo.op"() : () -> (foo)
// ==>
ERR loc("-":1:21): expected non-function type
// -----
"foo.op"() : () -> (affine_map)
// ==>
ERR loc("-":1:21): expected non-function type
// -----
"foo.op"() : () -> (1)
// ==>
ERR loc("-":1:21): expected non-function type
// -----
"foo.op"() : () -> (=)
// ==>
ERR loc("-":1:21): expected non-function type
