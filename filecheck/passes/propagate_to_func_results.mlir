// RUN: sdy-opt %s --sdy-propagate-to-func-results | filecheck %s

// Functions but main take the shardings of what they return, or have none.

sdy.mesh @mesh = <["x"=2]>

func.func @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) {
  return %arg0 : tensor<8xf32>
}

func.func private @f(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %arg1: tensor<8xf32>) -> (tensor<8xf32> {jax.result_info = "a"}, tensor<8xf32> {jax.result_info = "b", sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, tensor<8xf32>) {
  %0 = stablehlo.negate %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}]>]>} : tensor<8xf32>
  return %arg0, %arg1, %0 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

func.func private @g(%arg0: tensor<8xf32>) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
  return %arg0 : tensor<8xf32>
}

// CHECK:      module {
// CHECK-NEXT:   sdy.mesh @mesh = <["x"=2]>
// CHECK-NEXT:   func.func @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) {
// CHECK-NEXT:     return %arg0 : tensor<8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @f(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %arg1: tensor<8xf32>) -> (tensor<8xf32> {jax.result_info = "a", sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, tensor<8xf32> {jax.result_info = "b"}, tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}]>}) {
// CHECK-NEXT:     %0 = stablehlo.negate %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}]>]>} : tensor<8xf32>
// CHECK-NEXT:     return %arg0, %arg1, %0 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @g(%arg0: tensor<8xf32>) -> tensor<8xf32> {
// CHECK-NEXT:     return %arg0 : tensor<8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT: }
