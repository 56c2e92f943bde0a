// RUN: sdy-opt %s --sdy-import-func-calls | filecheck %s

// Calls become named computations with the bodies of what they call; the functions go.

sdy.mesh @mesh = <["x"=2, "y"=2]>

func.func @main(%arg0: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0:2 = call @outer(%arg0) {key = "value", sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>, <@mesh, [{?}]>]>} : (tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8xf32>)
  %1 = call @inner_0(%0#0) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = call @inner_0(%1) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %2 : tensor<8x8xf32>
}

func.func private @outer(%arg0: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8xf32>) {
  %0 = call @inner(%arg0) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = stablehlo.slice %0 [0:1, 0:8] : (tensor<8x8xf32>) -> tensor<1x8xf32>
  %2 = stablehlo.reshape %1 : (tensor<1x8xf32>) -> tensor<8xf32>
  return %0, %2 : tensor<8x8xf32>, tensor<8xf32>
}

func.func private @inner(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}]>}) -> tensor<8x8xf32> attributes {execution_thread = "side"} {
  %0 = stablehlo.negate %arg0 : tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

func.func private @inner_0(%arg0: tensor<8x8xf32>) -> tensor<8x8xf32> attributes {sdy.original_func_name = "inner"} {
  %0 = stablehlo.optimization_barrier %arg0 : tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// CHECK:      module {
// CHECK-NEXT:   sdy.mesh @mesh = <["x"=2, "y"=2]>
// CHECK-NEXT:   func.func @main(%arg0: tensor<8x8xf32>) -> tensor<8x8xf32> {
// CHECK-NEXT:     %0:2 = sdy.named_computation<"outer">(%arg0) out_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, [{?}]>] (%arg1: tensor<8x8xf32>) {
// CHECK-NEXT:       %7 = sdy.data_flow_edge %arg1 : tensor<8x8xf32>
// CHECK-NEXT:       %8 = sdy.named_computation<"inner">(%7) in_shardings=[<@mesh, [{}, {"y"}]>] (%arg2: tensor<8x8xf32>) {
// CHECK-NEXT:         %12 = sdy.data_flow_edge %arg2 sharding=<@mesh, [{}, {"y"}]> : tensor<8x8xf32>
// CHECK-NEXT:         %13 = stablehlo.negate %12 : tensor<8x8xf32>
// CHECK-NEXT:         sdy.return %13 : tensor<8x8xf32>
// CHECK-NEXT:       } {execution_thread = "side"} : (tensor<8x8xf32>) -> tensor<8x8xf32>
// CHECK-NEXT:       %9 = sdy.data_flow_edge %8 : tensor<8x8xf32>
// CHECK-NEXT:       %10 = stablehlo.slice %9 [0:1, 0:8] : (tensor<8x8xf32>) -> tensor<1x8xf32>
// CHECK-NEXT:       %11 = stablehlo.reshape %10 : (tensor<1x8xf32>) -> tensor<8xf32>
// CHECK-NEXT:       sdy.return %9, %11 : tensor<8x8xf32>, tensor<8xf32>
// CHECK-NEXT:     } {key = "value"} : (tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8xf32>)
// CHECK-NEXT:     %1 = sdy.data_flow_edge %0#0 sharding=<@mesh, [{"x"}, {}]> : tensor<8x8xf32>
// CHECK-NEXT:     %2 = sdy.data_flow_edge %0#1 sharding=<@mesh, [{?}]> : tensor<8xf32>
// CHECK-NEXT:     %3 = sdy.named_computation<"inner">(%1) (%arg1: tensor<8x8xf32>) {
// CHECK-NEXT:       %7 = sdy.data_flow_edge %arg1 : tensor<8x8xf32>
// CHECK-NEXT:       %8 = stablehlo.optimization_barrier %7 : tensor<8x8xf32>
// CHECK-NEXT:       sdy.return %8 : tensor<8x8xf32>
// CHECK-NEXT:     } : (tensor<8x8xf32>) -> tensor<8x8xf32>
// CHECK-NEXT:     %4 = sdy.data_flow_edge %3 : tensor<8x8xf32>
// CHECK-NEXT:     %5 = sdy.named_computation<"inner">(%4) (%arg1: tensor<8x8xf32>) {
// CHECK-NEXT:       %7 = sdy.data_flow_edge %arg1 : tensor<8x8xf32>
// CHECK-NEXT:       %8 = stablehlo.optimization_barrier %7 : tensor<8x8xf32>
// CHECK-NEXT:       sdy.return %8 : tensor<8x8xf32>
// CHECK-NEXT:     } : (tensor<8x8xf32>) -> tensor<8x8xf32>
// CHECK-NEXT:     %6 = sdy.data_flow_edge %5 : tensor<8x8xf32>
// CHECK-NEXT:     return %6 : tensor<8x8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT: }
