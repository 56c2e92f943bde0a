// RUN: sdy-opt %s --sdy-sink-data-flow-edges | filecheck %s

// Edges go; their shardings become those of the ops whose edges they are.

sdy.mesh @mesh = <["x"=2, "y"=2]>

func.func @main(%arg0: tensor<i32>, %arg1: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %0:2 = stablehlo.while(%i = %arg0, %x = %arg1) : tensor<i32>, tensor<8x8xf32>
    cond {
      %8 = stablehlo.compare LT, %i, %arg0 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %8 : tensor<i1>
    } do {
      %8 = stablehlo.add %x, %x : tensor<8x8xf32>
      stablehlo.return %i, %8 : tensor<i32>, tensor<8x8xf32>
    }
  %1 = sdy.data_flow_edge %0#0 : tensor<i32>
  %2 = sdy.data_flow_edge %0#1 sharding=<@mesh, [{"x"}, {}]> : tensor<8x8xf32>
  %3 = stablehlo.optimization_barrier %2 : tensor<8x8xf32>
  %4 = sdy.data_flow_edge %3 : tensor<8x8xf32>
  %5:2 = sdy.manual_computation(%4, %arg1) in_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, [{}, {}], replicated={"x"}>] out_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, [{}, {}], replicated={"x"}>] manual_axes={"x"} (%arg2: tensor<4x8xf32>, %arg3: tensor<8x8xf32>) {
    %8 = sdy.data_flow_edge %arg2 sharding=<@mesh, [{}, {"y"}]> : tensor<4x8xf32>
    %9 = sdy.data_flow_edge %arg3 sharding=<@mesh, [{?}, {?}]> : tensor<8x8xf32>
    %10 = stablehlo.negate %8 : tensor<4x8xf32>
    sdy.return %10, %9 : tensor<4x8xf32>, tensor<8x8xf32>
  } : (tensor<8x8xf32>, tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>)
  %6 = sdy.data_flow_edge %5#0 sharding=<@mesh, [{"x"}, {"y"}]> : tensor<8x8xf32>
  %7 = sdy.data_flow_edge %5#1 sharding=<@mesh, [{}, {}], replicated={"x"}> : tensor<8x8xf32>
  return %6, %7 : tensor<8x8xf32>, tensor<8x8xf32>
}

// CHECK:      module {
// CHECK-NEXT:   sdy.mesh @mesh = <["x"=2, "y"=2]>
// CHECK-NEXT:   func.func @main(%arg0: tensor<i32>, %arg1: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
// CHECK-NEXT:     %0:2 = stablehlo.while(%iterArg = %arg0, %iterArg_0 = %arg1) : tensor<i32>, tensor<8x8xf32> attributes {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>, <@mesh, [{"x"}, {}]>]>}
// CHECK-NEXT:     cond {
// CHECK-NEXT:       %3 = stablehlo.compare LT, %iterArg, %arg0 : (tensor<i32>, tensor<i32>) -> tensor<i1>
// CHECK-NEXT:       stablehlo.return %3 : tensor<i1>
// CHECK-NEXT:     } do {
// CHECK-NEXT:       %3 = stablehlo.add %iterArg_0, %iterArg_0 : tensor<8x8xf32>
// CHECK-NEXT:       stablehlo.return %iterArg, %3 : tensor<i32>, tensor<8x8xf32>
// CHECK-NEXT:     }
// CHECK-NEXT:     %1 = stablehlo.optimization_barrier %0#1 : tensor<8x8xf32>
// CHECK-NEXT:     %2:2 = sdy.manual_computation(%1, %arg1) in_shardings=[<@mesh, [{"x"}, {"y"}]>, <@mesh, [{?}, {?}], replicated={"x"}>] out_shardings=[<@mesh, [{"x"}, {"y"}]>, <@mesh, [{}, {}], replicated={"x"}>] manual_axes={"x"} (%arg2: tensor<4x8xf32>, %arg3: tensor<8x8xf32>) {
// CHECK-NEXT:       %3 = stablehlo.negate %arg2 : tensor<4x8xf32>
// CHECK-NEXT:       sdy.return %3, %arg3 : tensor<4x8xf32>, tensor<8x8xf32>
// CHECK-NEXT:     } : (tensor<8x8xf32>, tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>)
// CHECK-NEXT:     return %2#0, %2#1 : tensor<8x8xf32>, tensor<8x8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT: }
