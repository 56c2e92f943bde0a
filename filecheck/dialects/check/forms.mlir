// Attributes that have their defaults are left out; those in the dictionary move to their place in the form.
//
// RUN: sdy-opt %s | filecheck %s
// CHECK-LABEL: @main
func.func @main(%arg0: tensor<2xf32>) {
  // CHECK-NEXT: check.expect_almost_eq_const %arg0, dense<1.000000e+00> : tensor<2xf32>, tolerance = 2.500000e-01{{$}}
  check.expect_almost_eq_const %arg0, dense<1.0> : tensor<2xf32> {tolerance = 0.25 : f64}
  // CHECK-NEXT: check.expect_almost_eq_const %arg0, dense<1.000000e+00> : tensor<2xf32>{{$}}
  check.expect_almost_eq_const %arg0, dense<1.0> : tensor<2xf32>, tolerance = 0.0001
  // CHECK-NEXT: check.expect_close %arg0, %arg0, max_ulp_difference = 1 : tensor<2xf32>, tensor<2xf32>
  "check.expect_close"(%arg0, %arg0) : (tensor<2xf32>, tensor<2xf32>) -> ()
  // CHECK-NEXT: check.expect_close %arg0, %arg0, max_ulp_difference = 2 : tensor<2xf32>, tensor<2xf32>
  "check.expect_close"(%arg0, %arg0) {max_ulp_difference = 2 : ui64, min_ulp_difference = 0 : ui64} : (tensor<2xf32>, tensor<2xf32>) -> ()
  // CHECK-NEXT: check.expect_serialized_eq %arg0, probe_id = "p" : tensor<2xf32>
  check.expect_serialized_eq %arg0, probe_id = "p", iter = 0 : tensor<2xf32>
  return
}
