module attributes {foo.x = 1 : i2} {
}
// ==>
module attributes {foo.x = 1 : i2} {
}
// -----
module attributes {foo.x = -2 : i2} {
}
// ==>
module attributes {foo.x = -2 : i2} {
}
// -----
module attributes {foo.x = 3 : i2} {
}
// ==>
module attributes {foo.x = -1 : i2} {
}
// -----
module attributes {foo.x = 7 : i4} {
}
// ==>
module attributes {foo.x = 7 : i4} {
}
// -----
module attributes {foo.x = 15 : i4} {
}
// ==>
module attributes {foo.x = -1 : i4} {
}
// -----
module attributes {foo.x = -8 : i4} {
}
// ==>
module attributes {foo.x = -8 : i4} {
}
// -----
module attributes {foo.x = 16 : i4} {
}
// ==>
ERR loc("-":1:28): integer constant out of range for attribute
// -----
module attributes {foo.x = 18446744073709551615 : ui64} {
}
// ==>
module attributes {foo.x = 18446744073709551615 : ui64} {
}
// -----
module attributes {foo.x = 18446744073709551615 : i64} {
}
// ==>
module attributes {foo.x = -1 : i64} {
}
// -----
module attributes {foo.x = 9223372036854775808 : i64} {
}
// ==>
module attributes {foo.x = -9223372036854775808 : i64} {
}
// -----
module attributes {foo.x = -9223372036854775808 : i64} {
}
// ==>
module attributes {foo.x = -9223372036854775808 : i64} {
}
// -----
module attributes {foo.x = -1 : ui64} {
}
// ==>
ERR loc("-":1:29): negative integer literal not valid for unsigned integer type
// -----
module attributes {foo.x = 5 : si8} {
}
// ==>
module attributes {foo.x = 5 : si8} {
}
// -----
module attributes {foo.x = -128 : si8} {
}
// ==>
module attributes {foo.x = -128 : si8} {
}
// -----
module attributes {foo.x = 128 : si8} {
}
// ==>
ERR loc("-":1:28): integer constant out of range for attribute
// -----
module attributes {foo.x = 1 : i1} {
}
// ==>
module attributes {foo.x = true} {
}
// -----
module attributes {foo.x = 0 : i1} {
}
// ==>
module attributes {foo.x = false} {
}
// -----
module attributes {foo.x = true} {
}
// ==>
module attributes {foo.x = true} {
}
// -----
module attributes {foo.x = false} {
}
// ==>
module attributes {foo.x = false} {
}
// -----
module attributes {foo.x = -1 : i1} {
}
// ==>
module attributes {foo.x = true} {
}
// -----
module attributes {foo.x = 2 : i1} {
}
// ==>
ERR loc("-":1:28): integer constant out of range for attribute
// -----
module attributes {foo.x = 1 : index} {
}
// ==>
module attributes {foo.x = 1 : index} {
}
// -----
module attributes {foo.x = -1 : index} {
}
// ==>
module attributes {foo.x = -1 : index} {
}
// -----
module attributes {foo.x = 5} {
}
// ==>
module attributes {foo.x = 5 : i64} {
}
// -----
module attributes {foo.x = -5} {
}
// ==>
module attributes {foo.x = -5 : i64} {
}
// -----
module attributes {foo.x = 0x10} {
}
// ==>
module attributes {foo.x = 16 : i64} {
}
// -----
module attributes {foo.x = 0x10 : i8} {
}
// ==>
module attributes {foo.x = 16 : i8} {
}
// -----
module attributes {foo.x = 0xFF : i8} {
}
// ==>
module attributes {foo.x = -1 : i8} {
}
// -----
module attributes {foo.x = 0x1FF : i8} {
}
// ==>
ERR loc("-":1:28): integer constant out of range for attribute
// -----
module attributes {foo.x = 123456789012345678901234567890 : i128} {
}
// ==>
module attributes {foo.x = 123456789012345678901234567890 : i128} {
}
// -----
module attributes {foo.x = 1.0} {
}
// ==>
module attributes {foo.x = 1.000000e+00 : f64} {
}
// -----
module attributes {foo.x = 1.5 : f32} {
}
// ==>
module attributes {foo.x = 1.500000e+00 : f32} {
}
// -----
module attributes {foo.x = 0.01 : f32} {
}
// ==>
module attributes {foo.x = 0.00999999977 : f32} {
}
// -----
module attributes {foo.x = -0.0 : f32} {
}
// ==>
module attributes {foo.x = -0.000000e+00 : f32} {
}
// -----
module attributes {foo.x = 0.0 : f16} {
}
// ==>
module attributes {foo.x = 0.000000e+00 : f16} {
}
// -----
module attributes {foo.x = 1.0e40 : f32} {
}
// ==>
module attributes {foo.x = 0x7F800000 : f32} {
}
// -----
module attributes {foo.x = 1.0e-60 : f32} {
}
// ==>
module attributes {foo.x = 0.000000e+00 : f32} {
}
// -----
module attributes {foo.x = 1.0e400} {
}
// ==>
module attributes {foo.x = 0x7FF0000000000000 : f64} {
}
// -----
module attributes {foo.x = 65520.0 : f16} {
}
// ==>
module attributes {foo.x = 0x7C00 : f16} {
}
// -----
module attributes {foo.x = 65504.0 : f16} {
}
// ==>
module attributes {foo.x = 6.550400e+04 : f16} {
}
// -----
module attributes {foo.x = 1e5 : f32} {
}
// ==>
ERR loc("-":1:29): expected '}' in attribute dictionary
// -----
module attributes {foo.x = 1.e5 : f32} {
}
// ==>
module attributes {foo.x = 1.000000e+05 : f32} {
}
// -----
module attributes {foo.x = 0x7F800000 : f32} {
}
// ==>
module attributes {foo.x = 0x7F800000 : f32} {
}
// -----
module attributes {foo.x = 0xFF800000 : f32} {
}
// ==>
module attributes {foo.x = 0xFF800000 : f32} {
}
// -----
module attributes {foo.x = 0x7FC00000 : f32} {
}
// ==>
module attributes {foo.x = 0x7FC00000 : f32} {
}
// -----
module attributes {foo.x = 0xFFC00000 : f32} {
}
// ==>
module attributes {foo.x = 0xFFC00000 : f32} {
}
// -----
module attributes {foo.x = 0x7F800001 : f32} {
}
// ==>
module attributes {foo.x = 0x7F800001 : f32} {
}
// -----
module attributes {foo.x = 0x7FC12345 : f32} {
}
// ==>
module attributes {foo.x = 0x7FC12345 : f32} {
}
// -----
module attributes {foo.x = 0x1FFFFFFFF : f32} {
}
// ==>
ERR loc("-":1:28): hexadecimal float constant out of range for type
// -----
module attributes {foo.x = -0x7F800000 : f32} {
}
// ==>
ERR loc("-":1:29): hexadecimal float literal should not have a leading minus
// -----
module attributes {foo.x = 0x7C00 : f16} {
}
// ==>
module attributes {foo.x = 0x7C00 : f16} {
}
// -----
module attributes {foo.x = 0x7F80 : bf16} {
}
// ==>
module attributes {foo.x = 0x7F80 : bf16} {
}
// -----
module attributes {foo.x = 0x7FF0000000000000 : f64} {
}
// ==>
module attributes {foo.x = 0x7FF0000000000000 : f64} {
}
// -----
module attributes {foo.x = 0x7FF8000000000001 : f64} {
}
// ==>
module attributes {foo.x = 0x7FF8000000000001 : f64} {
}
// -----
module attributes {foo.x = 0x3FC0 : bf16} {
}
// ==>
module attributes {foo.x = 1.500000e+00 : bf16} {
}
// -----
module attributes {foo.x = 1.0 : f80} {
}
// ==>
module attributes {foo.x = 1.000000e+00 : f80} {
}
// -----
module attributes {foo.x = 1.0 : f128} {
}
// ==>
module attributes {foo.x = 1.000000e+00 : f128} {
}
// -----
module attributes {foo.x = 0.1 : f80} {
}
// ==>
module attributes {foo.x = 0.100000000000000005551 : f80} {
}
// -----
module attributes {foo.x = 0.1 : f128} {
}
// ==>
module attributes {foo.x = 0.100000000000000005551115123125782702 : f128} {
}
// -----
module attributes {foo.x = 0x3FFF8000000000000000 : f80} {
}
// ==>
module attributes {foo.x = 1.000000e+00 : f80} {
}
// -----
module attributes {foo.x = 0x7FFF8000000000000000 : f80} {
}
// ==>
module attributes {foo.x = 0x7FFF8000000000000000 : f80} {
}
// -----
module attributes {foo.x = 1.0 : tf32} {
}
// ==>
module attributes {foo.x = 1.000000e+00 : tf32} {
}
// -----
module attributes {foo.x = 1.1 : tf32} {
}
// ==>
module attributes {foo.x = 1.099610e+00 : tf32} {
}
// -----
module attributes {foo.x = 1.0 : f8E5M2} {
}
// ==>
module attributes {foo.x = 1.000000e+00 : f8E5M2} {
}
// -----
module attributes {foo.x = 1.0e10 : f8E5M2} {
}
// ==>
module attributes {foo.x = 0x7C : f8E5M2} {
}
// -----
module attributes {foo.x = 1.0e10 : f8E4M3FN} {
}
// ==>
module attributes {foo.x = 0x7F : f8E4M3FN} {
}
// -----
module attributes {foo.x = 1.0e10 : f8E4M3FNUZ} {
}
// ==>
module attributes {foo.x = 0x80 : f8E4M3FNUZ} {
}
// -----
module attributes {foo.x = 1.0e10 : f8E4M3} {
}
// ==>
module attributes {foo.x = 0x78 : f8E4M3} {
}
// -----
module attributes {foo.x = 1.0e10 : f8E3M4} {
}
// ==>
module attributes {foo.x = 0x70 : f8E3M4} {
}
// -----
module attributes {foo.x = 1.0e10 : f8E4M3B11FNUZ} {
}
// ==>
module attributes {foo.x = 0x80 : f8E4M3B11FNUZ} {
}
// -----
module attributes {foo.x = 1.0e10 : f8E5M2FNUZ} {
}
// ==>
module attributes {foo.x = 0x80 : f8E5M2FNUZ} {
}
// -----
module attributes {foo.x = 1.0e10 : f8E8M0FNU} {
}
// ==>
module attributes {foo.x = 8.589930e+09 : f8E8M0FNU} {
}
// -----
module attributes {foo.x = 0.0 : f8E8M0FNU} {
}
// ==>
module attributes {foo.x = 5.877470e-39 : f8E8M0FNU} {
}
// -----
module attributes {foo.x = 3.0 : f8E8M0FNU} {
}
// ==>
module attributes {foo.x = 4.000000e+00 : f8E8M0FNU} {
}
// -----
module attributes {foo.x = 1.0e10 : f6E2M3FN} {
}
// ==>
module attributes {foo.x = 7.500000e+00 : f6E2M3FN} {
}
// -----
module attributes {foo.x = 1.0e10 : f6E3M2FN} {
}
// ==>
module attributes {foo.x = 2.800000e+01 : f6E3M2FN} {
}
// -----
module attributes {foo.x = 1.0e10 : f4E2M1FN} {
}
// ==>
module attributes {foo.x = 6.000000e+00 : f4E2M1FN} {
}
// -----
module attributes {foo.x = 0.3 : f8E5M2} {
}
// ==>
module attributes {foo.x = 3.125000e-01 : f8E5M2} {
}
// -----
module attributes {foo.x = 0.3 : f8E4M3FN} {
}
// ==>
module attributes {foo.x = 3.125000e-01 : f8E4M3FN} {
}
// -----
module attributes {foo.x = 0.3 : f8E4M3FNUZ} {
}
// ==>
module attributes {foo.x = 3.125000e-01 : f8E4M3FNUZ} {
}
// -----
module attributes {foo.x = 0.3 : f8E4M3} {
}
// ==>
module attributes {foo.x = 3.125000e-01 : f8E4M3} {
}
// -----
module attributes {foo.x = 0.3 : f8E3M4} {
}
// ==>
module attributes {foo.x = 2.968750e-01 : f8E3M4} {
}
// -----
module attributes {foo.x = 0.3 : f8E4M3B11FNUZ} {
}
// ==>
module attributes {foo.x = 3.125000e-01 : f8E4M3B11FNUZ} {
}
// -----
module attributes {foo.x = 0.3 : f8E5M2FNUZ} {
}
// ==>
module attributes {foo.x = 3.125000e-01 : f8E5M2FNUZ} {
}
// -----
module attributes {foo.x = 0.3 : f8E8M0FNU} {
}
// ==>
module attributes {foo.x = 2.500000e-01 : f8E8M0FNU} {
}
// -----
module attributes {foo.x = 0.3 : f6E2M3FN} {
}
// ==>
module attributes {foo.x = 2.500000e-01 : f6E2M3FN} {
}
// -----
module attributes {foo.x = 0.3 : f6E3M2FN} {
}
// ==>
module attributes {foo.x = 3.125000e-01 : f6E3M2FN} {
}
// -----
module attributes {foo.x = 0.3 : f4E2M1FN} {
}
// ==>
module attributes {foo.x = 5.000000e-01 : f4E2M1FN} {
}
// -----
module attributes {foo.x = -0.0 : f8E4M3FNUZ} {
}
// ==>
module attributes {foo.x = 0.000000e+00 : f8E4M3FNUZ} {
}
// -----
module attributes {foo.x = -0.3 : f4E2M1FN} {
}
// ==>
module attributes {foo.x = -5.000000e-01 : f4E2M1FN} {
}
// -----
module attributes {foo.x = 1 : f32} {
}
// ==>
ERR loc("-":1:28): unexpected decimal integer literal for a floating point value [note: loc("-":1:28): add a trailing dot to make the literal a float]
// -----
module attributes {foo.x = 1.0 : i32} {
}
// ==>
ERR loc("-":1:37): floating point value not valid for specified type
// -----
module attributes {foo.x = "abc"} {
}
// ==>
module attributes {foo.x = "abc"} {
}
// -----
module attributes {foo.x = "a\"b\\c\nd\te\22\0A\FF"} {
}
// ==>
module attributes {foo.x = "a\22b\\c\0Ad\09e\22\0A\FF"} {
}
// -----
module attributes {foo.x = "héllo 世界"} {
}
// ==>
module attributes {foo.x = "h\C3\A9llo \E4\B8\96\E7\95\8C"} {
}
// -----
module attributes {foo.x = "a} {
}
// ==>
ERR loc("-":1:33): expected '"' in string literal
// -----
module attributes {foo.x = unit} {
}
// ==>
module attributes {foo.x} {
}
// -----
module attributes {foo.x = []} {
}
// ==>
module attributes {foo.x = []} {
}
// -----
module attributes {foo.x = [1, 2.0, 3 : i32, "a", unit, true, [], {}]} {
}
// ==>
module attributes {foo.x = [1, 2.000000e+00, 3 : i32, "a", unit, true, [], {}]} {
}
// -----
module attributes {foo.x = [1 : i64, 1.0 : f64, 1.0 : f32]} {
}
// ==>
module attributes {foo.x = [1, 1.000000e+00, 1.000000e+00 : f32]} {
}
// -----
module attributes {foo.x = {}} {
}
// ==>
module attributes {foo.x = {}} {
}
// -----
module attributes {foo.x = {a = 1, b, c = {d = [1]}}} {
}
// ==>
module attributes {foo.x = {a = 1 : i64, b, c = {d = [1]}}} {
}
// -----
module attributes {foo.x = {a, a}} {
}
// ==>
ERR loc("-":1:32): duplicate key 'a' in dictionary attribute
// -----
module attributes {foo.x = {"quoted name" = 1, "a-b", "a.b" = 2, "1a" = 3}} {
}
// ==>
module attributes {foo.x = {"1a" = 3 : i64, "a-b", a.b = 2 : i64, "quoted name" = 1 : i64}} {
}
// -----
module attributes {foo.x = {"" = 1}} {
}
// ==>
ERR loc("-":1:29): expected valid attribute name
// -----
module attributes {foo.x = {b = 1, a = 2}} {
}
// ==>
module attributes {foo.x = {a = 2 : i64, b = 1 : i64}} {
}
// -----
module attributes {foo.x = {1 = 2}} {
}
// ==>
ERR loc("-":1:29): expected attribute name
// -----
module attributes {foo.x = @a} {
}
// ==>
module attributes {foo.x = @a} {
}
// -----
module attributes {foo.x = @"a b"} {
}
// ==>
module attributes {foo.x = @"a b"} {
}
// -----
module attributes {foo.x = @a::@b::@"c d"} {
}
// ==>
module attributes {foo.x = @a::@b::@"c d"} {
}
// -----
module attributes {foo.x = @a::b} {
}
// ==>
ERR loc("-":1:32): expected nested symbol reference identifier
// -----
module attributes {foo.x = @} {
}
// ==>
ERR loc("-":1:29): @ identifier expected to start with letter or '_'
// -----
module attributes {foo.x = @"a"} {
}
// ==>
module attributes {foo.x = @a} {
}
// -----
module attributes {foo.x = i32} {
}
// ==>
module attributes {foo.x = i32} {
}
// -----
module attributes {foo.x = tensor<2xf32>} {
}
// ==>
module attributes {foo.x = tensor<2xf32>} {
}
// -----
module attributes {foo.x = !foo.bar} {
}
// ==>
module attributes {foo.x = !foo.bar} {
}
// -----
module attributes {foo.x = #foo.bar} {
}
// ==>
module attributes {foo.x = #foo.bar} {
}
// -----
module attributes {foo.x = #foo.bar<baz>} {
}
// ==>
module attributes {foo.x = #foo.bar<baz>} {
}
// -----
module attributes {foo.x = #foo.bar<"a>b", [1, {2}], (3)>} {
}
// ==>
module attributes {foo.x = #foo.bar<"a>b", [1, {2}], (3)>} {
}
// -----
module attributes {foo.x = #foo<bar baz>} {
}
// ==>
module attributes {foo.x = #foo<bar baz>} {
}
// -----
module attributes {foo.x = #foo<"bar">} {
}
// ==>
module attributes {foo.x = #foo<"bar">} {
}
// -----
module attributes {foo.x = #foo.bar<a<b<c>>>} {
}
// ==>
module attributes {foo.x = #foo.bar<a<b<c>>>} {
}
// -----
module attributes {foo.x = #foo.bar<a -> b>} {
}
// ==>
module attributes {foo.x = #foo.bar<a -> b>} {
}
// -----
module attributes {foo.x = #foo.bar<(a]>} {
}
// ==>
ERR loc("-":1:36): unbalanced '(' character in pretty dialect name
// -----
module attributes {foo.x = !foo.t<x>} {
}
// ==>
module attributes {foo.x = !foo.t<x>} {
}
// -----
module attributes {foo.x = !foo<t x>} {
}
// ==>
module attributes {foo.x = !foo<t x>} {
}
// -----
module attributes {foo.x = opaque<"foo", "bar">} {
}
// ==>
ERR loc("-":1:27): expected attribute value
// -----
module attributes {foo.x = array<i64: 1, 2, 3>} {
}
// ==>
module attributes {foo.x = array<i64: 1, 2, 3>} {
}
// -----
module attributes {foo.x = array<i64>} {
}
// ==>
module attributes {foo.x = array<i64>} {
}
// -----
module attributes {foo.x = array<i32: -1>} {
}
// ==>
module attributes {foo.x = array<i32: -1>} {
}
// -----
module attributes {foo.x = array<i1: true, false>} {
}
// ==>
module attributes {foo.x = array<i1: true, false>} {
}
// -----
module attributes {foo.x = array<i8: 255>} {
}
// ==>
module attributes {foo.x = array<i8: -1>} {
}
// -----
module attributes {foo.x = array<i8: 256>} {
}
// ==>
ERR loc("-":1:41): integer constant out of range
// -----
module attributes {foo.x = array<i4: 1>} {
}
// ==>
ERR loc("-":1:34): element type bitwidth must be a multiple of 8
// -----
module attributes {foo.x = array<f32: 1.0, 0.01, 0x7F800000>} {
}
// ==>
module attributes {foo.x = array<f32: 1.000000e+00, 0.00999999977, 0x7F800000>} {
}
// -----
module attributes {foo.x = array<f64: 1.0>} {
}
// ==>
module attributes {foo.x = array<f64: 1.000000e+00>} {
}
// -----
module attributes {foo.x = array<f16: 1.0>} {
}
// ==>
module attributes {foo.x = array<f16: 1.000000e+00>} {
}
// -----
module attributes {foo.x = array<bf16: 1.0>} {
}
// ==>
module attributes {foo.x = array<bf16: 1.000000e+00>} {
}
// -----
module attributes {foo.x = array<f8E5M2: 1.0>} {
}
// ==>
module attributes {foo.x = array<f8E5M2: 1.000000e+00>} {
}
// -----
module attributes {foo.x = array<f32: 1>} {
}
// ==>
ERR loc("-":1:39): unexpected decimal integer literal for a floating point value [note: loc("-":1:39): add a trailing dot to make the literal a float]
// -----
module attributes {foo.x = array<i32: 1.0>} {
}
// ==>
ERR loc("-":1:39): expected integer literal
// -----
module attributes {foo.x = array<index: 1>} {
}
// ==>
ERR loc("-":1:34): expected integer or float type, got: 'index'
// -----
module attributes {foo.x = array<ui8: 1>} {
}
// ==>
module attributes {foo.x = array<ui8: 1>} {
}
// -----
module attributes {foo.x = array<si8: -1>} {
}
// ==>
module attributes {foo.x = array<si8: -1>} {
}
// -----
module attributes {foo.x = array<complex<f32>: 1>} {
}
// ==>
ERR loc("-":1:34): expected integer or float type, got: 'complex<f32>'
// -----
module attributes {foo.x = array<i64: >} {
}
// ==>
ERR loc("-":1:39): expected integer literal
// -----
module attributes {foo.x = array<i64 1>} {
}
// ==>
ERR loc("-":1:37): expected ':' after dense array type
// -----
module attributes {foo.x = array<i64: 1} {
}
// ==>
ERR loc("-":1:40): expected '>' to close an array attribute
// -----
module attributes {foo.x = dense<1> : tensor<i32>} {
}
// ==>
module attributes {foo.x = dense<1> : tensor<i32>} {
}
// -----
module attributes {foo.x = dense<1> : tensor<4xi32>} {
}
// ==>
module attributes {foo.x = dense<1> : tensor<4xi32>} {
}
// -----
module attributes {foo.x = dense<[1, 2, 3, 4]> : tensor<4xi32>} {
}
// ==>
module attributes {foo.x = dense<[1, 2, 3, 4]> : tensor<4xi32>} {
}
// -----
module attributes {foo.x = dense<[1, 1, 1, 1]> : tensor<4xi32>} {
}
// ==>
module attributes {foo.x = dense<1> : tensor<4xi32>} {
}
// -----
module attributes {foo.x = dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>} {
}
// ==>
module attributes {foo.x = dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>} {
}
// -----
module attributes {foo.x = dense<[[1, 2], [3]]> : tensor<2x2xi32>} {
}
// ==>
ERR loc("-":1:46): tensor literal is invalid; ranks are not consistent between elements
// -----
module attributes {foo.x = dense<[1, 2]> : tensor<4xi32>} {
}
// ==>
ERR loc("-":1:28): inferred shape of elements literal ([2]) does not match type ([4])
// -----
module attributes {foo.x = dense<> : tensor<0xi32>} {
}
// ==>
module attributes {foo.x = dense<> : tensor<0xi32>} {
}
// -----
module attributes {foo.x = dense<> : tensor<4xi32>} {
}
// ==>
ERR loc("-":1:28): parsed zero elements, but type ('tensor<4xi32>') expected at least 1
// -----
module attributes {foo.x = dense<[]> : tensor<0xi32>} {
}
// ==>
module attributes {foo.x = dense<> : tensor<0xi32>} {
}
// -----
module attributes {foo.x = dense<1> : tensor<0xi32>} {
}
// ==>
module attributes {foo.x = dense<1> : tensor<0xi32>} {
}
// -----
module attributes {foo.x = dense<[[], []]> : tensor<2x0xi32>} {
}
// ==>
module attributes {foo.x = dense<> : tensor<2x0xi32>} {
}
// -----
module attributes {foo.x = dense<> : tensor<2x0x3xf32>} {
}
// ==>
module attributes {foo.x = dense<> : tensor<2x0x3xf32>} {
}
// -----
module attributes {foo.x = dense<true> : tensor<i1>} {
}
// ==>
module attributes {foo.x = dense<true> : tensor<i1>} {
}
// -----
module attributes {foo.x = dense<[true, false]> : tensor<2xi1>} {
}
// ==>
module attributes {foo.x = dense<[true, false]> : tensor<2xi1>} {
}
// -----
module attributes {foo.x = dense<[true, true]> : tensor<2xi1>} {
}
// ==>
module attributes {foo.x = dense<true> : tensor<2xi1>} {
}
// -----
module attributes {foo.x = dense<1> : tensor<i1>} {
}
// ==>
module attributes {foo.x = dense<true> : tensor<i1>} {
}
// -----
module attributes {foo.x = dense<true> : tensor<i8>} {
}
// ==>
ERR loc("-":1:34): expected i1 type for 'true' or 'false' values
// -----
module attributes {foo.x = dense<1.0> : tensor<f32>} {
}
// ==>
module attributes {foo.x = dense<1.000000e+00> : tensor<f32>} {
}
// -----
module attributes {foo.x = dense<1> : tensor<f32>} {
}
// ==>
ERR loc("-":1:34): unexpected decimal integer literal for a floating point value [note: loc("-":1:34): add a trailing dot to make the literal a float]
// -----
module attributes {foo.x = dense<1.0> : tensor<i32>} {
}
// ==>
ERR loc("-":1:34): expected integer elements, but parsed floating-point
// -----
module attributes {foo.x = dense<0x7F800000> : tensor<f32>} {
}
// ==>
module attributes {foo.x = dense<0x7F800000> : tensor<f32>} {
}
// -----
module attributes {foo.x = dense<0x7FC00000> : tensor<2xf32>} {
}
// ==>
module attributes {foo.x = dense<0x7FC00000> : tensor<2xf32>} {
}
// -----
module attributes {foo.x = dense<[0x7FC00000, 1.0]> : tensor<2xf32>} {
}
// ==>
module attributes {foo.x = dense<[0x7FC00000, 1.000000e+00]> : tensor<2xf32>} {
}
// -----
module attributes {foo.x = dense<0xFF800000> : tensor<f32>} {
}
// ==>
module attributes {foo.x = dense<0xFF800000> : tensor<f32>} {
}
// -----
module attributes {foo.x = dense<-1> : tensor<ui8>} {
}
// ==>
ERR loc("-":1:35): expected unsigned integer elements, but parsed negative value
// -----
module attributes {foo.x = dense<255> : tensor<ui8>} {
}
// ==>
module attributes {foo.x = dense<255> : tensor<ui8>} {
}
// -----
module attributes {foo.x = dense<256> : tensor<ui8>} {
}
// ==>
ERR loc("-":1:34): integer constant out of range for type
// -----
module attributes {foo.x = dense<255> : tensor<i8>} {
}
// ==>
module attributes {foo.x = dense<-1> : tensor<i8>} {
}
// -----
module attributes {foo.x = dense<-129> : tensor<i8>} {
}
// ==>
ERR loc("-":1:35): integer constant out of range for type
// -----
module attributes {foo.x = dense<[1, -2, 7]> : tensor<3xi4>} {
}
// ==>
module attributes {foo.x = dense<[1, -2, 7]> : tensor<3xi4>} {
}
// -----
module attributes {foo.x = dense<15> : tensor<i4>} {
}
// ==>
module attributes {foo.x = dense<-1> : tensor<i4>} {
}
// -----
module attributes {foo.x = dense<[1, 2, 3]> : tensor<3xui4>} {
}
// ==>
module attributes {foo.x = dense<[1, 2, 3]> : tensor<3xui4>} {
}
// -----
module attributes {foo.x = dense<[1, -2]> : tensor<2xi2>} {
}
// ==>
module attributes {foo.x = dense<[1, -2]> : tensor<2xi2>} {
}
// -----
module attributes {foo.x = dense<[1, 2]> : tensor<2xindex>} {
}
// ==>
module attributes {foo.x = dense<[1, 2]> : tensor<2xindex>} {
}
// -----
module attributes {foo.x = dense<(1.0, 2.0)> : tensor<complex<f32>>} {
}
// ==>
module attributes {foo.x = dense<(1.000000e+00,2.000000e+00)> : tensor<complex<f32>>} {
}
// -----
module attributes {foo.x = dense<[(1.0, 2.0), (3.0, -0.0)]> : tensor<2xcomplex<f32>>} {
}
// ==>
module attributes {foo.x = dense<[(1.000000e+00,2.000000e+00), (3.000000e+00,-0.000000e+00)]> : tensor<2xcomplex<f32>>} {
}
// -----
module attributes {foo.x = dense<(1, 2)> : tensor<complex<i32>>} {
}
// ==>
module attributes {foo.x = dense<(1,2)> : tensor<complex<i32>>} {
}
// -----
module attributes {foo.x = dense<1.0> : tensor<complex<f32>>} {
}
// ==>
ERR loc("-":1:28): parsed 1 elements, but type ('complex<f32>') expected 2 elements
// -----
module attributes {foo.x = dense<[(1, 2), (3, 4)]> : tensor<2xcomplex<i8>>} {
}
// ==>
module attributes {foo.x = dense<[(1,2), (3,4)]> : tensor<2xcomplex<i8>>} {
}
// -----
module attributes {foo.x = dense<(1.0, 0x7F800000)> : tensor<complex<f32>>} {
}
// ==>
module attributes {foo.x = dense<(1.000000e+00,0x7F800000)> : tensor<complex<f32>>} {
}
// -----
module attributes {foo.x = dense<(1.0)> : tensor<complex<f32>>} {
}
// ==>
ERR loc("-":1:38): expected ',' between complex elements
// -----
module attributes {foo.x = dense<"0x01000000"> : tensor<i32>} {
}
// ==>
module attributes {foo.x = dense<1> : tensor<i32>} {
}
// -----
module attributes {foo.x = dense<"0x0100000002000000"> : tensor<2xi32>} {
}
// ==>
module attributes {foo.x = dense<[1, 2]> : tensor<2xi32>} {
}
// -----
module attributes {foo.x = dense<"0x01000000"> : tensor<2xi32>} {
}
// ==>
module attributes {foo.x = dense<1> : tensor<2xi32>} {
}
// -----
module attributes {foo.x = dense<"0x0100"> : tensor<2xi32>} {
}
// ==>
ERR loc("-":1:28): elements hex data size is invalid for provided type: 'tensor<2xi32>'
// -----
module attributes {foo.x = dense<"0x010"> : tensor<2xi32>} {
}
// ==>
ERR loc("-":1:34): expected string containing hex digits starting with `0x`
// -----
module attributes {foo.x = dense<"010"> : tensor<2xi32>} {
}
// ==>
ERR loc("-":1:34): expected string containing hex digits starting with `0x`
// -----
module attributes {foo.x = dense<"0xZZ"> : tensor<1xi8>} {
}
// ==>
ERR loc("-":1:34): expected string containing hex digits starting with `0x`
// -----
module attributes {foo.x = dense<"0x"> : tensor<0xi8>} {
}
// ==>
module attributes {foo.x = dense<> : tensor<0xi8>} {
}
// -----
module attributes {foo.x = dense<"0x0000803F"> : tensor<f32>} {
}
// ==>
module attributes {foo.x = dense<1.000000e+00> : tensor<f32>} {
}
// -----
module attributes {foo.x = dense<"0x01"> : tensor<8xi1>} {
}
// ==>
module attributes {foo.x = dense<true> : tensor<8xi1>} {
}
// -----
module attributes {foo.x = dense<"0xFF"> : tensor<8xi1>} {
}
// ==>
module attributes {foo.x = dense<true> : tensor<8xi1>} {
}
// -----
module attributes {foo.x = dense<"0x00"> : tensor<8xi1>} {
}
// ==>
module attributes {foo.x = dense<false> : tensor<8xi1>} {
}
// -----
module attributes {foo.x = dense<"0x0F"> : tensor<8xi1>} {
}
// ==>
module attributes {foo.x = dense<true> : tensor<8xi1>} {
}
// -----
module attributes {foo.x = dense<"0x03"> : tensor<2xi1>} {
}
// ==>
module attributes {foo.x = dense<true> : tensor<2xi1>} {
}
// -----
module attributes {foo.x = dense<"0x0F01"> : tensor<10xi1>} {
}
// ==>
ERR loc("-":1:28): elements hex data size is invalid for provided type: 'tensor<10xi1>'
// -----
module attributes {foo.x = dense<"0x0001"> : tensor<2xi1>} {
}
// ==>
module attributes {foo.x = dense<[false, true]> : tensor<2xi1>} {
}
// -----
module attributes {foo.x = dense<"0x0102"> : tensor<2xi4>} {
}
// ==>
module attributes {foo.x = dense<[1, 2]> : tensor<2xi4>} {
}
// -----
module attributes {foo.x = dense<"0x0102"> : tensor<2xf8E4M3FN>} {
}
// ==>
module attributes {foo.x = dense<[1.953130e-03, 3.906250e-03]> : tensor<2xf8E4M3FN>} {
}
// -----
module attributes {foo.x = dense<[1.0, 0.3]> : tensor<2xf8E4M3FN>} {
}
// ==>
module attributes {foo.x = dense<[1.000000e+00, 3.125000e-01]> : tensor<2xf8E4M3FN>} {
}
// -----
module attributes {foo.x = dense<[1.0, 0.3]> : tensor<2xf8E5M2>} {
}
// ==>
module attributes {foo.x = dense<[1.000000e+00, 3.125000e-01]> : tensor<2xf8E5M2>} {
}
// -----
module attributes {foo.x = dense<[1.0, 0.3]> : tensor<2xf4E2M1FN>} {
}
// ==>
module attributes {foo.x = dense<[1.000000e+00, 5.000000e-01]> : tensor<2xf4E2M1FN>} {
}
// -----
module attributes {foo.x = dense<[1.0, 0.3]> : tensor<2xf6E2M3FN>} {
}
// ==>
module attributes {foo.x = dense<[1.000000e+00, 2.500000e-01]> : tensor<2xf6E2M3FN>} {
}
// -----
module attributes {foo.x = dense<[1.0, 0.3]> : tensor<2xf8E8M0FNU>} {
}
// ==>
module attributes {foo.x = dense<[1.000000e+00, 2.500000e-01]> : tensor<2xf8E8M0FNU>} {
}
// -----
module attributes {foo.x = dense<[1.0, 0.3]> : tensor<2xbf16>} {
}
// ==>
module attributes {foo.x = dense<[1.000000e+00, 3.007810e-01]> : tensor<2xbf16>} {
}
// -----
module attributes {foo.x = dense<[1.0, 0.3]> : tensor<2xf80>} {
}
// ==>
module attributes {foo.x = dense<[1.000000e+00, 0.299999999999999988898]> : tensor<2xf80>} {
}
// -----
module attributes {foo.x = dense<[1.0, 0.3]> : tensor<2xf128>} {
}
// ==>
module attributes {foo.x = dense<[1.000000e+00, 0.299999999999999988897769753748434596]> : tensor<2xf128>} {
}
// -----
module attributes {foo.x = dense<[1.0, 0.3]> : tensor<2xtf32>} {
}
// ==>
module attributes {foo.x = dense<[1.000000e+00, 3.000490e-01]> : tensor<2xtf32>} {
}
// -----
module attributes {foo.x = dense<1> : vector<4xi32>} {
}
// ==>
module attributes {foo.x = dense<1> : vector<4xi32>} {
}
// -----
module attributes {foo.x = dense<[1, 2]> : vector<2xi64>} {
}
// ==>
module attributes {foo.x = dense<[1, 2]> : vector<2xi64>} {
}
// -----
module attributes {foo.x = dense<1> : memref<4xi32>} {
}
// ==>
module attributes {foo.x = dense<1> : memref<4xi32>} {
}
// -----
module attributes {foo.x = dense<1> : i32} {
}
// ==>
ERR loc("-":1:28): elements literal must be a shaped type
// -----
module attributes {foo.x = dense<1> : tensor<?xi32>} {
}
// ==>
ERR loc("-":1:28): elements literal type must have static shape
// -----
module attributes {foo.x = dense<1> : tensor<*xi32>} {
}
// ==>
ERR loc("-":1:28): elements literal type must have static shape
// -----
module attributes {foo.x = dense<1> : tensor<1000000x1000000xi32>} {
}
// ==>
module attributes {foo.x = dense<1> : tensor<1000000x1000000xi32>} {
}
// -----
module attributes {foo.x = dense<[1, 2] : tensor<2xi32>} {
}
// ==>
ERR loc("-":1:40): expected '>'
// -----
module attributes {foo.x = dense<1, 2> : tensor<2xi32>} {
}
// ==>
ERR loc("-":1:35): expected '>'
// -----
module attributes {foo.x = dense<-> : tensor<i32>} {
}
// ==>
ERR loc("-":1:34): expected element literal of primitive type
// -----
module attributes {foo.x = dense<a> : tensor<i32>} {
}
// ==>
ERR loc("-":1:34): expected element literal of primitive type
// -----
module attributes {foo.x = dense<99999999999999999999> : tensor<i64>} {
}
// ==>
ERR loc("-":1:34): integer constant out of range for type
// -----
module attributes {foo.x = dense<[[1], 2]> : tensor<2x1xi32>} {
}
// ==>
ERR loc("-":1:41): tensor literal is invalid; ranks are not consistent between elements
// -----
module attributes {foo.x = dense_resource<foo> : tensor<2xi32>} {
}
// ==>
module attributes {foo.x = dense_resource<foo> : tensor<2xi32>} {
}
// -----
module attributes {foo.x = dense_resource<"foo bar"> : tensor<2xi32>} {
}
// ==>
module attributes {foo.x = dense_resource<"foo bar"> : tensor<2xi32>} {
}
// -----
module attributes {foo.x = affine_map<(d0, d1) -> (d0, d1)>} {
}
// ==>
#map = affine_map<(d0, d1) -> (d0, d1)>
module attributes {foo.x = #map} {
}
// -----
module attributes {foo.x = affine_map<(d0, d1)[s0] -> (d0 + s0, d1 * 2 + d0 mod 3, d1 floordiv 2, d0 ceildiv 4 - 1)>} {
}
// ==>
#map = affine_map<(d0, d1)[s0] -> (d0 + s0, d1 * 2 + d0 mod 3, d1 floordiv 2, d0 ceildiv 4 - 1)>
module attributes {foo.x = #map} {
}
// -----
module attributes {foo.x = affine_map<() -> ()>} {
}
// ==>
#map = affine_map<() -> ()>
module attributes {foo.x = #map} {
}
// -----
module attributes {foo.x = affine_map<() -> (0)>} {
}
// ==>
#map = affine_map<() -> (0)>
module attributes {foo.x = #map} {
}
// -----
module attributes {foo.x = affine_map<(a, b) -> (b, a)>} {
}
// ==>
#map = affine_map<(d0, d1) -> (d1, d0)>
module attributes {foo.x = #map} {
}
// -----
module attributes {foo.x = affine_map<(d0) -> (-d0 + 5)>} {
}
// ==>
#map = affine_map<(d0) -> (-d0 + 5)>
module attributes {foo.x = #map} {
}
// -----
module attributes {foo.x = affine_map<(d0) -> (d0 - 5, 5 - d0, -(d0 + 1), d0 * -1)>} {
}
// ==>
#map = affine_map<(d0) -> (d0 - 5, -d0 + 5, -(d0 + 1), -d0)>
module attributes {foo.x = #map} {
}
// -----
module attributes {foo.x = affine_map<(d0) -> (d1)>} {
}
// ==>
ERR loc("-":1:48): use of undeclared identifier
// -----
module attributes {foo.x = affine_map<(d0) -> d0>} {
}
// ==>
ERR loc("-":1:46): expected '(' in affine map range
// -----
module attributes {foo.x = affine_map<(d0 -> (d0)>} {
}
// ==>
ERR loc("-":1:42): expected ')' in dimensional identifier list
// -----
module attributes {foo.x = affine_map<(d0, d1) -> (d0 * 2 + d1 * 3 - 4)>} {
}
// ==>
#map = affine_map<(d0, d1) -> (d0 * 2 + d1 * 3 - 4)>
module attributes {foo.x = #map} {
}
// -----
module attributes {foo.x = affine_map<(d0, d1) -> ((d0 + d1) * 4)>} {
}
// ==>
#map = affine_map<(d0, d1) -> ((d0 + d1) * 4)>
module attributes {foo.x = #map} {
}
// -----
module attributes {foo.x = affine_map<(d0, d1) -> (d0 mod 2 + (d1 mod 3) floordiv 2)>} {
}
// ==>
#map = affine_map<(d0, d1) -> (d0 mod 2 + (d1 mod 3) floordiv 2)>
module attributes {foo.x = #map} {
}
// -----
module attributes {foo.x = affine_map<()[s0, s1] -> (s0 - s1, s1 * 4)>} {
}
// ==>
#map = affine_map<()[s0, s1] -> (s0 - s1, s1 * 4)>
module attributes {foo.x = #map} {
}
// -----
module attributes {foo.x = affine_set<(d0) : (d0 >= 0, d0 - 5 == 0)>} {
}
// ==>
#set = affine_set<(d0) : (d0 >= 0, d0 - 5 == 0)>
module attributes {foo.x = #set} {
}
// -----
module attributes {foo.x = affine_set<(d0)[s0] : (d0 >= 0, -d0 + s0 - 1 >= 0)>} {
}
// ==>
#set = affine_set<(d0)[s0] : (d0 >= 0, -d0 + s0 - 1 >= 0)>
module attributes {foo.x = #set} {
}
// -----
module attributes {foo.x = affine_set<() : ()>} {
}
// ==>
#set = affine_set<() : (0 == 0)>
module attributes {foo.x = #set} {
}
// -----
module attributes {foo.x = strided<[1, 2]>} {
}
// ==>
module attributes {foo.x = strided<[1, 2]>} {
}
// -----
module attributes {foo.x = strided<[?, 1], offset: ?>} {
}
// ==>
module attributes {foo.x = strided<[?, 1], offset: ?>} {
}
// -----
module attributes {foo.x = strided<[], offset: 3>} {
}
// ==>
module attributes {foo.x = strided<[], offset: 3>} {
}
// -----
module attributes {foo.x = loc("a":1:2)} {
}
// ==>
#loc = loc("a":1:2)
module attributes {foo.x = #loc} {
}
// -----
module attributes {foo.x = loc(unknown)} {
}
// ==>
#loc = loc(unknown)
module attributes {foo.x = #loc} {
}
// -----
module attributes {foo.x = loc("name")} {
}
// ==>
#loc = loc("name")
module attributes {foo.x = #loc} {
}
// -----
module attributes {foo.x = loc(callsite("a" at "b":1:2))} {
}
// ==>
#loc = loc("a")
#loc1 = loc("b":1:2)
#loc2 = loc(callsite(#loc at #loc1))
module attributes {foo.x = #loc2} {
}
// -----
module attributes {foo.x = loc(fused["a", "b"])} {
}
// ==>
#loc = loc("a")
#loc1 = loc("b")
#loc2 = loc(fused[#loc, #loc1])
module attributes {foo.x = #loc2} {
}
// -----
module attributes {foo.x = loc(fused<1>["a"])} {
}
// ==>
#loc = loc("a")
#loc1 = loc(fused<1 : i64>[#loc])
module attributes {foo.x = #loc1} {
}
// -----
module attributes {foo.x = vhlo.x} {
}
// ==>
ERR loc("-":1:27): expected attribute value
// -----
module attributes {foo.x = none} {
}
// ==>
module attributes {foo.x = none} {
}
// -----
module attributes {foo.x = foo} {
}
// ==>
ERR loc("-":1:27): expected attribute value
// -----
module attributes {foo.x = =} {
}
// ==>
ERR loc("-":1:27): expected attribute value
// -----
module attributes {foo.x = %a} {
}
// ==>
ERR loc("-":1:27): expected attribute value
// -----
module attributes {foo.x = ^bb} {
}
// ==>
ERR loc("-":1:27): expected attribute value
// -----
module attributes {foo.x = tensor} {
}
// ==>
ERR loc("-":1:34): expected '<' in tensor type
// -----
module attributes {foo.x = dense} {
}
// ==>
ERR loc("-":1:33): expected '<' after 'dense'
// -----
module attributes {foo.x = #map} {
}
// ==>
ERR loc("-":1:32): undefined symbol alias id 'map'
// -----
module attributes {foo.x = !t} {
}
// ==>
ERR loc("-":1:30): undefined symbol alias id 't'
// -----
module attributes {foo.x = (i32) -> i32} {
}
// ==>
module attributes {foo.x = (i32) -> i32} {
}
// -----
module attributes {foo.x = () -> ()} {
}
// ==>
module attributes {foo.x = () -> ()} {
}
// -----
module attributes {foo.x = (i32, f32) -> (i32, f32)} {
}
// ==>
module attributes {foo.x = (i32, f32) -> (i32, f32)} {
}
// -----
module attributes {foo.x = () -> (() -> ())} {
}
// ==>
module attributes {foo.x = () -> (() -> ())} {
}
