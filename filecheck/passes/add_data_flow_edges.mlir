// RUN: sdy-opt %s --sdy-add-data-flow-edges | filecheck %s

// Every owner of an edge gets one, with its sharding; tokens and inner block arguments of loops get none.

sdy.mesh @mesh = <["x"=2, "y"=2]>

func.func @main(%arg0: tensor<i32>, %arg1: tensor<8x8xf32>, %arg2: !stablehlo.token) -> (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) {
  %0:2 = stablehlo.while(%i = %arg0, %x = %arg1) : tensor<i32>, tensor<8x8xf32> attributes {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>, <@mesh, [{"x"}, {?}]>]>}
    cond {
      %6 = stablehlo.compare LT, %i, %arg0 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %6 : tensor<i1>
    } do {
      %6 = stablehlo.add %x, %x : tensor<8x8xf32>
      stablehlo.return %i, %6 : tensor<i32>, tensor<8x8xf32>
    }
  %1:2 = "stablehlo.case"(%arg0) ({
    stablehlo.return %0#1, %0#1 : tensor<8x8xf32>, tensor<8x8xf32>
  }, {
    stablehlo.return %arg1, %0#1 : tensor<8x8xf32>, tensor<8x8xf32>
  }) : (tensor<i32>) -> (tensor<8x8xf32>, tensor<8x8xf32>)
  %2:2 = stablehlo.optimization_barrier %1#0, %arg2 : tensor<8x8xf32>, !stablehlo.token
  %3:2 = sdy.manual_computation(%2#0, %1#1) in_shardings=[<@mesh, [{"x", "y"}, {}]>, <@mesh, [{?}, {?}], replicated={"x"}>] out_shardings=[<@mesh, [{"x"}, {"y"}]>, <@mesh, [{}, {}], replicated={"x"}>] manual_axes={"x"} (%arg3: tensor<4x8xf32>, %arg4: tensor<8x8xf32>) {
    %6 = stablehlo.negate %arg3 : tensor<4x8xf32>
    sdy.return %6, %arg4 : tensor<4x8xf32>, tensor<8x8xf32>
  } : (tensor<8x8xf32>, tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>)
  %4 = sdy.named_computation<"f">(%3#0) in_shardings=[<@mesh, [{}, {"y"}]>] (%arg3: tensor<8x8xf32>) {
    %6 = stablehlo.add %arg3, %arg3 : tensor<8x8xf32>
    sdy.return %6 : tensor<8x8xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %1#1, %4, %3#1 : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
}

// CHECK:      module {
// CHECK-NEXT:   sdy.mesh @mesh = <["x"=2, "y"=2]>
// CHECK-NEXT:   func.func @main(%arg0: tensor<i32>, %arg1: tensor<8x8xf32>, %arg2: !stablehlo.token) -> (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) {
// CHECK-NEXT:     %0:2 = stablehlo.while(%iterArg = %arg0, %iterArg_0 = %arg1) : tensor<i32>, tensor<8x8xf32> attributes {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>, <@mesh, [{"x"}, {?}]>]>}
// CHECK-NEXT:     cond {
// CHECK-NEXT:       %13 = stablehlo.compare LT, %iterArg, %arg0 : (tensor<i32>, tensor<i32>) -> tensor<i1>
// CHECK-NEXT:       stablehlo.return %13 : tensor<i1>
// CHECK-NEXT:     } do {
// CHECK-NEXT:       %13 = stablehlo.add %iterArg_0, %iterArg_0 : tensor<8x8xf32>
// CHECK-NEXT:       stablehlo.return %iterArg, %13 : tensor<i32>, tensor<8x8xf32>
// CHECK-NEXT:     }
// CHECK-NEXT:     %1 = sdy.data_flow_edge %0#0 sharding=<@mesh, []> : tensor<i32>
// CHECK-NEXT:     %2 = sdy.data_flow_edge %0#1 sharding=<@mesh, [{"x"}, {?}]> : tensor<8x8xf32>
// CHECK-NEXT:     %3:2 = "stablehlo.case"(%arg0) ({
// CHECK-NEXT:       stablehlo.return %2, %2 : tensor<8x8xf32>, tensor<8x8xf32>
// CHECK-NEXT:     }, {
// CHECK-NEXT:       stablehlo.return %arg1, %2 : tensor<8x8xf32>, tensor<8x8xf32>
// CHECK-NEXT:     }) : (tensor<i32>) -> (tensor<8x8xf32>, tensor<8x8xf32>)
// CHECK-NEXT:     %4 = sdy.data_flow_edge %3#0 : tensor<8x8xf32>
// CHECK-NEXT:     %5 = sdy.data_flow_edge %3#1 : tensor<8x8xf32>
// CHECK-NEXT:     %6:2 = stablehlo.optimization_barrier %4, %arg2 : tensor<8x8xf32>, !stablehlo.token
// CHECK-NEXT:     %7 = sdy.data_flow_edge %6#0 : tensor<8x8xf32>
// CHECK-NEXT:     %8:2 = sdy.manual_computation(%7, %5) in_shardings=[<@mesh, [{"x", "y"}, {}]>, <@mesh, [{?}, {?}], replicated={"x"}>] out_shardings=[<@mesh, [{"x"}, {"y"}]>, <@mesh, [{}, {}], replicated={"x"}>] manual_axes={"x"} (%arg3: tensor<4x8xf32>, %arg4: tensor<8x8xf32>) {
// CHECK-NEXT:       %13 = sdy.data_flow_edge %arg3 sharding=<@mesh, [{"y"}, {}]> : tensor<4x8xf32>
// CHECK-NEXT:       %14 = sdy.data_flow_edge %arg4 sharding=<@mesh, [{?}, {?}]> : tensor<8x8xf32>
// CHECK-NEXT:       %15 = stablehlo.negate %13 : tensor<4x8xf32>
// CHECK-NEXT:       sdy.return %15, %14 : tensor<4x8xf32>, tensor<8x8xf32>
// CHECK-NEXT:     } : (tensor<8x8xf32>, tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>)
// CHECK-NEXT:     %9 = sdy.data_flow_edge %8#0 sharding=<@mesh, [{"x"}, {"y"}]> : tensor<8x8xf32>
// CHECK-NEXT:     %10 = sdy.data_flow_edge %8#1 sharding=<@mesh, [{}, {}], replicated={"x"}> : tensor<8x8xf32>
// CHECK-NEXT:     %11 = sdy.named_computation<"f">(%9) in_shardings=[<@mesh, [{}, {"y"}]>] (%arg3: tensor<8x8xf32>) {
// CHECK-NEXT:       %13 = sdy.data_flow_edge %arg3 sharding=<@mesh, [{}, {"y"}]> : tensor<8x8xf32>
// CHECK-NEXT:       %14 = stablehlo.add %13, %13 : tensor<8x8xf32>
// CHECK-NEXT:       sdy.return %14 : tensor<8x8xf32>
// CHECK-NEXT:     } : (tensor<8x8xf32>) -> tensor<8x8xf32>
// CHECK-NEXT:     %12 = sdy.data_flow_edge %11 : tensor<8x8xf32>
// CHECK-NEXT:     return %5, %12, %10 : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT: }
