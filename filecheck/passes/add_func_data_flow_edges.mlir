// RUN: sdy-opt %s --sdy-add-func-data-flow-edges | filecheck %s

// Arguments of functions but main, and results of calls, get an edge.

sdy.mesh @mesh = <["x"=2]>

func.func @main(%arg0: tensor<8xf32>, %arg1: !stablehlo.token) -> tensor<8xf32> {
  %0:3 = call @f(%arg0, %arg1, %arg0) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>, <@mesh, []>, <@mesh, [{?}]>]>} : (tensor<8xf32>, !stablehlo.token, tensor<8xf32>) -> (tensor<8xf32>, !stablehlo.token, tensor<8xf32>)
  %1 = stablehlo.add %0#0, %0#2 : tensor<8xf32>
  return %1 : tensor<8xf32>
}

func.func private @f(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %arg1: !stablehlo.token, %arg2: tensor<8xf32>) -> (tensor<8xf32>, !stablehlo.token, tensor<8xf32>) {
  %0 = stablehlo.multiply %arg2, %arg0 : tensor<8xf32>
  return %0, %arg1, %arg2 : tensor<8xf32>, !stablehlo.token, tensor<8xf32>
}

// CHECK:      module {
// CHECK-NEXT:   sdy.mesh @mesh = <["x"=2]>
// CHECK-NEXT:   func.func @main(%arg0: tensor<8xf32>, %arg1: !stablehlo.token) -> tensor<8xf32> {
// CHECK-NEXT:     %0:3 = call @f(%arg0, %arg1, %arg0) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>, <@mesh, []>, <@mesh, [{?}]>]>} : (tensor<8xf32>, !stablehlo.token, tensor<8xf32>) -> (tensor<8xf32>, !stablehlo.token, tensor<8xf32>)
// CHECK-NEXT:     %1 = sdy.func_data_flow_edge %0#0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} : tensor<8xf32>
// CHECK-NEXT:     %2 = sdy.func_data_flow_edge %0#2 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}]>]>} : tensor<8xf32>
// CHECK-NEXT:     %3 = stablehlo.add %1, %2 : tensor<8xf32>
// CHECK-NEXT:     return %3 : tensor<8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @f(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %arg1: !stablehlo.token, %arg2: tensor<8xf32>) -> (tensor<8xf32>, !stablehlo.token, tensor<8xf32>) {
// CHECK-NEXT:     %0 = sdy.func_data_flow_edge %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} : tensor<8xf32>
// CHECK-NEXT:     %1 = sdy.func_data_flow_edge %arg2 : tensor<8xf32>
// CHECK-NEXT:     %2 = stablehlo.multiply %1, %0 : tensor<8xf32>
// CHECK-NEXT:     return %2, %arg1, %1 : tensor<8xf32>, !stablehlo.token, tensor<8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT: }
