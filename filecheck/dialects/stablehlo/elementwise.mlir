// Elementwise ops, one value at a time. The text below is what it prints as.
//
// RUN: grep -v '^//' %s > %t.expected
// RUN: sdy-opt %s | diff %t.expected -
// RUN: sdy-opt %s --mlir-print-op-generic | sdy-opt - | diff %t.expected -
module {
  func.func @unary_of_floats(%arg0: tensor<4x?xf32>) {
    %0 = stablehlo.abs %arg0 : tensor<4x?xf32>
    %1 = stablehlo.cbrt %arg0 : tensor<4x?xf32>
    %2 = stablehlo.ceil %arg0 : tensor<4x?xf32>
    %3 = stablehlo.convert %arg0 : (tensor<4x?xf32>) -> tensor<4x?xbf16>
    %4 = stablehlo.cosine %arg0 : tensor<4x?xf32>
    %5 = stablehlo.exponential %arg0 {result_accuracy = #stablehlo.result_accuracy<atol = 1.000000e-03, ulps = 2, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>} : tensor<4x?xf32>
    %6 = stablehlo.exponential_minus_one %arg0 {result_accuracy = #stablehlo.result_accuracy<mode = #stablehlo.result_accuracy_mode<HIGHEST>>} : tensor<4x?xf32>
    %7 = stablehlo.floor %arg0 : tensor<4x?xf32>
    %8 = stablehlo.is_finite %arg0 : (tensor<4x?xf32>) -> tensor<4x?xi1>
    %9 = stablehlo.log %arg0 : tensor<4x?xf32>
    %10 = stablehlo.log_plus_one %arg0 {note = "kept"} : tensor<4x?xf32>
    %11 = stablehlo.logistic %arg0 : tensor<4x?xf32>
    %12 = stablehlo.negate %arg0 : tensor<4x?xf32>
    %13 = stablehlo.round_nearest_afz %arg0 : tensor<4x?xf32>
    %14 = stablehlo.round_nearest_even %arg0 : tensor<4x?xf32>
    %15 = stablehlo.rsqrt %arg0 : tensor<4x?xf32>
    %16 = stablehlo.sign %arg0 : tensor<4x?xf32>
    %17 = stablehlo.sine %arg0 : tensor<4x?xf32>
    %18 = stablehlo.sqrt %arg0 : tensor<4x?xf32>
    %19 = stablehlo.tan %arg0 : tensor<4x?xf32>
    %20 = stablehlo.tanh %arg0 : tensor<4x?xf32>
    %21 = stablehlo.reduce_precision %arg0, format = e5m10 : tensor<4x?xf32>
    return
  }
  func.func @unary_of_integers(%arg0: tensor<8xui16>, %arg1: tensor<8xi4>, %arg2: tensor<i1>) {
    %0 = stablehlo.count_leading_zeros %arg0 : tensor<8xui16>
    %1 = stablehlo.not %arg2 : tensor<i1>
    %2 = stablehlo.popcnt %arg1 : tensor<8xi4>
    %3 = stablehlo.bitcast_convert %arg0 : (tensor<8xui16>) -> tensor<8xbf16>
    return
  }
  func.func @complex_numbers(%arg0: tensor<3xcomplex<f64>>, %arg1: tensor<3xf64>) {
    %0 = stablehlo.real %arg0 : (tensor<3xcomplex<f64>>) -> tensor<3xf64>
    %1 = stablehlo.imag %arg0 : (tensor<3xcomplex<f64>>) -> tensor<3xf64>
    %2 = stablehlo.complex %0, %1 : tensor<3xcomplex<f64>>
    %3 = stablehlo.abs %2 : (tensor<3xcomplex<f64>>) -> tensor<3xf64>
    %4 = stablehlo.real %arg1 : tensor<3xf64>
    return
  }
  func.func @binary(%arg0: tensor<2x3xf16>, %arg1: tensor<2x3xi32>, %arg2: tensor<2x3xi1>, %arg3: tensor<?x3xf16>) {
    %0 = stablehlo.add %arg0, %arg0 : tensor<2x3xf16>
    %1 = stablehlo.and %arg2, %arg2 : tensor<2x3xi1>
    %2 = stablehlo.atan2 %arg0, %arg0 : tensor<2x3xf16>
    %3 = stablehlo.divide %arg0, %arg0 : tensor<2x3xf16>
    %4 = stablehlo.maximum %arg0, %arg0 : tensor<2x3xf16>
    %5 = stablehlo.minimum %arg0, %arg0 : tensor<2x3xf16>
    %6 = stablehlo.multiply %arg0, %arg3 : (tensor<2x3xf16>, tensor<?x3xf16>) -> tensor<2x3xf16>
    %7 = stablehlo.or %arg1, %arg1 : tensor<2x3xi32>
    %8 = stablehlo.power %arg0, %arg0 : tensor<2x3xf16>
    %9 = stablehlo.remainder %arg0, %arg0 : tensor<2x3xf16>
    %10 = stablehlo.shift_left %arg1, %arg1 : tensor<2x3xi32>
    %11 = stablehlo.shift_right_arithmetic %arg1, %arg1 : tensor<2x3xi32>
    %12 = stablehlo.shift_right_logical %arg1, %arg1 {a, b = 2 : i64} : tensor<2x3xi32>
    %13 = stablehlo.subtract %arg0, %arg0 : tensor<2x3xf16>
    %14 = stablehlo.xor %arg2, %arg2 : tensor<2x3xi1>
    %15 = stablehlo.compare LT, %arg0, %arg0 : (tensor<2x3xf16>, tensor<2x3xf16>) -> tensor<2x3xi1>
    %16 = stablehlo.compare NE, %arg0, %arg0, TOTALORDER {a} : (tensor<2x3xf16>, tensor<2x3xf16>) -> tensor<2x3xi1>
    return
  }
  func.func @ternary(%arg0: tensor<2xf32>, %arg1: tensor<f32>, %arg2: tensor<2xi1>, %arg3: tensor<?xf32>) {
    %0 = stablehlo.clamp %arg0, %arg0, %arg0 : tensor<2xf32>
    %1 = stablehlo.clamp %arg1, %arg0, %arg1 : (tensor<f32>, tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
    %2 = stablehlo.select %arg2, %arg0, %arg0 : tensor<2xi1>, tensor<2xf32>
    %3 = stablehlo.select %arg2, %arg0, %arg3 : (tensor<2xi1>, tensor<2xf32>, tensor<?xf32>) -> tensor<2xf32>
    return
  }
}
