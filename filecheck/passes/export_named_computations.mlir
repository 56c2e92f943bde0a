// RUN: sdy-opt %s --sdy-export-named-computations | filecheck %s

// Named computations become functions and calls, with the shardings of their data-flow edges.

sdy.mesh @mesh = <["x"=2, "y"=2]>

func.func @main(%arg0: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0:2 = sdy.named_computation<"f">(%arg0, %arg0) in_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, [{?}, {?}]>] (%arg1: tensor<8x8xf32>, %arg2: tensor<8x8xf32>) {
    %6 = sdy.data_flow_edge %arg1 sharding=<@mesh, [{"x"}, {"y"}]> : tensor<8x8xf32>
    %7 = sdy.data_flow_edge %arg2 : tensor<8x8xf32>
    %8 = sdy.named_computation<"g">(%6) (%arg3: tensor<8x8xf32>) {
      %10 = stablehlo.negate %arg3 : tensor<8x8xf32>
      sdy.return %10 : tensor<8x8xf32>
    } {execution_thread = "side", key = "value"} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %9 = stablehlo.add %8, %7 : tensor<8x8xf32>
    sdy.return %9, %6 : tensor<8x8xf32>, tensor<8x8xf32>
  } {key = "value"} : (tensor<8x8xf32>, tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>)
  %1 = sdy.data_flow_edge %0#0 : tensor<8x8xf32>
  %2 = sdy.data_flow_edge %0#1 sharding=<@mesh, [{"x"}, {}]> : tensor<8x8xf32>
  %3 = stablehlo.add %1, %2 : tensor<8x8xf32>
  %4 = sdy.named_computation<"f">(%3) (%arg1: tensor<8x8xf32>) {
    sdy.return %arg1 : tensor<8x8xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %5 = sdy.named_computation<"g">(%4) out_shardings=[<@mesh, [{"y"}, {}]>] (%arg1: tensor<8x8xf32>) {
    sdy.return %arg1 : tensor<8x8xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %5 : tensor<8x8xf32>
}

func.func private @f_0() {
  return
}

// CHECK:      module {
// CHECK-NEXT:   sdy.mesh @mesh = <["x"=2, "y"=2]>
// CHECK-NEXT:   func.func @main(%arg0: tensor<8x8xf32>) -> tensor<8x8xf32> {
// CHECK-NEXT:     %0:2 = call @f(%arg0, %arg0) {key = "value", sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {?}]>, <@mesh, [{"x"}, {}]>]>} : (tensor<8x8xf32>, tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>)
// CHECK-NEXT:     %1 = stablehlo.add %0#0, %0#1 : tensor<8x8xf32>
// CHECK-NEXT:     %2 = call @f_1(%1) : (tensor<8x8xf32>) -> tensor<8x8xf32>
// CHECK-NEXT:     %3 = call @g_2(%2) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y"}, {}]>]>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
// CHECK-NEXT:     return %3 : tensor<8x8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @f_0() {
// CHECK-NEXT:     return
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @g(%arg0: tensor<8x8xf32>) -> tensor<8x8xf32> attributes {execution_thread = "side", sdy.original_func_name = "g"} {
// CHECK-NEXT:     %0 = stablehlo.negate %arg0 : tensor<8x8xf32>
// CHECK-NEXT:     return %0 : tensor<8x8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @f(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}, %arg1: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {?}]>}) -> (tensor<8x8xf32>, tensor<8x8xf32>) attributes {sdy.original_func_name = "f"} {
// CHECK-NEXT:     %0 = call @g(%arg0) {key = "value"} : (tensor<8x8xf32>) -> tensor<8x8xf32>
// CHECK-NEXT:     %1 = stablehlo.add %0, %arg1 : tensor<8x8xf32>
// CHECK-NEXT:     return %1, %arg0 : tensor<8x8xf32>, tensor<8x8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @f_1(%arg0: tensor<8x8xf32>) -> tensor<8x8xf32> attributes {sdy.original_func_name = "f"} {
// CHECK-NEXT:     return %arg0 : tensor<8x8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @g_2(%arg0: tensor<8x8xf32>) -> tensor<8x8xf32> attributes {sdy.original_func_name = "g"} {
// CHECK-NEXT:     return %arg0 : tensor<8x8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT: }
