// RUN: sdy-opt %s --sdy-basic-propagate | filecheck %s

// The argument of the body of async_start is sharded as what it stands for; nothing flows back out.

sdy.mesh @mesh = <["a"=2, "b"=2]>

// CHECK-LABEL: func.func @main
func.func @main(%arg0: tensor<4x2xf32>) -> tensor<4x2xf32> {
  // CHECK:      stablehlo.negate %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"a", ?}, {?}]>]>}
  // CHECK:      stablehlo.slice %arg1 [0:4, 0:2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"a", ?}, {?}]>]>}
  // CHECK:      "stablehlo.async_done"(%1) : (!stablehlo.future<tensor<4x2xf32>>) -> tensor<4x2xf32>
  %0 = stablehlo.negate %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"a", ?}, {?}]>]>} : tensor<4x2xf32>
  %1 = "stablehlo.async_start"(%0) ({
  ^bb0(%arg1: tensor<4x2xf32>):
    %3 = stablehlo.slice %arg1 [0:4, 0:2] : (tensor<4x2xf32>) -> tensor<4x2xf32>
    stablehlo.return %3 : tensor<4x2xf32>
  }) : (tensor<4x2xf32>) -> !stablehlo.future<tensor<4x2xf32>>
  %2 = "stablehlo.async_done"(%1) : (!stablehlo.future<tensor<4x2xf32>>) -> tensor<4x2xf32>
  return %2 : tensor<4x2xf32>
}
