// CHLO. The text below is what it prints as.
//
// RUN: grep -v '^//' %s > %t.expected
// RUN: sdy-opt %s | diff %t.expected -
// RUN: sdy-opt %s --mlir-print-op-generic | sdy-opt - | diff %t.expected -
module {
  func.func @unary(%arg0: tensor<4x?xf32>, %arg1: tensor<4xcomplex<f32>>) {
    %0 = chlo._asin_acos_kernel %arg1 : tensor<4xcomplex<f32>> -> tensor<4xcomplex<f32>>
    %1 = chlo.acos %arg0 : tensor<4x?xf32> -> tensor<4x?xf32>
    %2 = chlo.acosh %arg0 : tensor<4x?xf32> -> tensor<4x?xf32>
    %3 = chlo.asin %arg0 : tensor<4x?xf32> -> tensor<4x?xf32>
    %4 = chlo.asinh %arg0 : tensor<4x?xf32> -> tensor<4x?xf32>
    %5 = chlo.atan %arg0 : tensor<4x?xf32> -> tensor<4x?xf32>
    %6 = chlo.atanh %arg0 : tensor<4x?xf32> -> tensor<4x?xf32>
    %7 = chlo.bessel_i1e %arg0 : tensor<4x?xf32> -> tensor<4x?xf32>
    %8 = chlo.conj %arg1 : tensor<4xcomplex<f32>> -> tensor<4xcomplex<f32>>
    %9 = chlo.cosh %arg0 : tensor<4x?xf32> -> tensor<4x?xf32>
    %10 = chlo.digamma %arg0 : tensor<4x?xf32> -> tensor<4x?xf32>
    %11 = chlo.erf %arg0 : tensor<4x?xf32> -> tensor<4x?xf32>
    %12 = chlo.erf_inv %arg0 : tensor<4x?xf32> -> tensor<4x?xf32>
    %13 = chlo.erfc %arg0 : tensor<4x?xf32> -> tensor<4x?xf32>
    %14 = chlo.is_inf %arg0 : tensor<4x?xf32> -> tensor<4x?xi1>
    %15 = chlo.is_neg_inf %arg0 : tensor<4x?xf32> -> tensor<4x?xi1>
    %16 = chlo.is_pos_inf %arg0 : tensor<4x?xf32> -> tensor<4x?xi1>
    %17 = chlo.lgamma %arg0 : tensor<4x?xf32> -> tensor<4x?xf32>
    %18 = chlo.sinh %arg0 : tensor<4x?xf32> -> tensor<4x?xf32>
    %19 = chlo.square %arg0 {note} : tensor<4x?xf32> -> tensor<4x?xf32>
    %20 = chlo.tan %arg0 : tensor<4x?xf32> -> tensor<4x?xf32>
    return
  }
  func.func @binary(%arg0: tensor<4xf32>, %arg1: tensor<4xi32>) {
    %0 = chlo.mulhi %arg1, %arg1 : tensor<4xi32>, tensor<4xi32> -> tensor<4xi32>
    %1 = chlo.next_after %arg0, %arg0 : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    %2 = chlo.polygamma %arg0, %arg0 : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    %3 = chlo.zeta %arg0, %arg0 {note} : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    return
  }
  func.func @broadcasting(%arg0: tensor<4x3xf32>, %arg1: tensor<3xf32>, %arg2: tensor<4x3xi32>, %arg3: tensor<3xi32>, %arg4: tensor<4x3xi1>) {
    %0 = chlo.broadcast_add %arg0, %arg1 {broadcast_dimensions = array<i64: 1>} : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
    %1 = chlo.broadcast_and %arg2, %arg3 : (tensor<4x3xi32>, tensor<3xi32>) -> tensor<4x3xi32>
    %2 = chlo.broadcast_atan2 %arg0, %arg1 : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
    %3 = chlo.broadcast_complex %arg0, %arg1 : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xcomplex<f32>>
    %4 = chlo.broadcast_divide %arg0, %arg1 : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
    %5 = chlo.broadcast_maximum %arg0, %arg1 : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
    %6 = chlo.broadcast_minimum %arg0, %arg1 : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
    %7 = chlo.broadcast_multiply %arg0, %arg1 : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
    %8 = chlo.broadcast_next_after %arg0, %arg1 : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
    %9 = chlo.broadcast_or %arg2, %arg3 : (tensor<4x3xi32>, tensor<3xi32>) -> tensor<4x3xi32>
    %10 = chlo.broadcast_polygamma %arg0, %arg1 : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
    %11 = chlo.broadcast_power %arg0, %arg1 : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
    %12 = chlo.broadcast_remainder %arg0, %arg1 : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
    %13 = chlo.broadcast_shift_left %arg2, %arg3 : (tensor<4x3xi32>, tensor<3xi32>) -> tensor<4x3xi32>
    %14 = chlo.broadcast_shift_right_arithmetic %arg2, %arg3 : (tensor<4x3xi32>, tensor<3xi32>) -> tensor<4x3xi32>
    %15 = chlo.broadcast_shift_right_logical %arg2, %arg3 : (tensor<4x3xi32>, tensor<3xi32>) -> tensor<4x3xi32>
    %16 = chlo.broadcast_subtract %arg0, %arg1 : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
    %17 = chlo.broadcast_xor %arg2, %arg3 : (tensor<4x3xi32>, tensor<3xi32>) -> tensor<4x3xi32>
    %18 = chlo.broadcast_zeta %arg0, %arg1 : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
    %19 = chlo.broadcast_compare %arg0, %arg1 {compare_type = #chlo<comparison_type FLOAT>, comparison_direction = #chlo<comparison_direction GE>} : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xi1>
    %20 = chlo.broadcast_select %arg4, %arg0, %arg1 : (tensor<4x3xi1>, tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
    return
  }
  func.func @complex_constant(%arg0: tensor<4x?xcomplex<f64>>) {
    %0 = "chlo.constant_like"(%arg0) <{value = #complex.number<:f64 1.000000e+00, -0.000000e+00> : complex<f64>}> : (tensor<4x?xcomplex<f64>>) -> tensor<4x?xcomplex<f64>>
    return
  }
  func.func @others(%arg0: tensor<4x16xf32>, %arg1: tensor<2x16x8xf32>, %arg2: tensor<2xi32>, %arg3: tensor<16xf32>) {
    %0 = chlo.constant dense<1> : tensor<2xi32>
    %1 = chlo.constant {note} dense<5.000000e-01> : tensor<f32>
    %2 = "chlo.constant_like"(%arg0) <{value = 3.000000e+00 : f32}> : (tensor<4x16xf32>) -> tensor<4x16xf32>
    %3 = "chlo.ragged_dot"(%arg0, %arg1, %arg2) <{precision_config = [#chlo<precision DEFAULT>, #chlo<precision HIGH>], ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<4x16xf32>, tensor<2x16x8xf32>, tensor<2xi32>) -> tensor<4x8xf32>
    %values, %indices = chlo.top_k(%arg0, k = 8) : tensor<4x16xf32> -> (tensor<4x8xf32>, tensor<4x8xi32>)
    %4:2 = chlo.scan(%arg0) inits (%arg3) dimension=0  {
    ^bb0(%input: tensor<16xf32>, %carry: tensor<16xf32>):
      %6 = stablehlo.add %input, %carry : tensor<16xf32>
      stablehlo.return %6, %6 : tensor<16xf32>, tensor<16xf32>
    } : (tensor<4x16xf32>, tensor<16xf32>) -> (tensor<4x16xf32>, tensor<16xf32>)
    %5:2 = chlo.scan(%arg0) inits (%arg3) dimension=0  attributes {is_associative = true, is_reverse = true} {
    ^bb0(%input: tensor<16xf32>, %carry: tensor<16xf32>):
      %6 = stablehlo.add %input, %carry : tensor<16xf32>
      stablehlo.return %6, %6 : tensor<16xf32>, tensor<16xf32>
    } : (tensor<4x16xf32>, tensor<16xf32>) -> (tensor<4x16xf32>, tensor<16xf32>)
    return
  }
}
