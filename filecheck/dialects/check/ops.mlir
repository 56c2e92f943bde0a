// The dialect check. The text below is what it prints as.
//
// RUN: grep -v '^//' %s > %t.expected
// RUN: sdy-opt %s | diff %t.expected -
// RUN: sdy-opt %s --mlir-print-op-generic | sdy-opt - | diff %t.expected -
module {
  func.func @main(%arg0: tensor<2xf32>, %arg1: tensor<2xi32>, %arg2: tensor<?xcomplex<f32>>, %arg3: tensor<2x!quant.uniform<i8:f32, 1.0>>) {
    check.expect_eq %arg1, %arg1 : tensor<2xi32>
    check.expect_eq %arg3, %arg3 {note = "quantized"} : tensor<2x!quant.uniform<i8:f32, 1.0>>
    check.expect_eq_const %arg1, dense<[1, 2]> : tensor<2xi32>
    check.expect_eq_const %arg1, dense<0> : tensor<2xi32> {note = "all zero"}
    check.expect_almost_eq %arg0, %arg0 : tensor<2xf32>
    check.expect_almost_eq %arg2, %arg2, tolerance = 1.000000e-01 : tensor<?xcomplex<f32>>
    check.expect_almost_eq_const %arg0, dense<1.000000e+00> : tensor<2xf32>, tolerance = 5.000000e-01
    check.expect_almost_eq_const %arg0, dense<1.000000e+00> : tensor<2xf32>, tolerance = 2.500000e-01
    check.expect_close %arg0, %arg0, max_ulp_difference = 3 : tensor<2xf32>, tensor<2xf32>
    check.expect_close %arg0, %arg0, max_ulp_difference = 3, min_ulp_difference = 2 : {note = "apart"} tensor<2xf32>, tensor<2xf32>
    check.expect_serialized_eq %arg1, probe_id = "probe0" : tensor<2xi32>
    check.expect_serialized_eq %arg1, probe_id = "a b", iter = 3 : tensor<2xi32>
    return
  }
}
