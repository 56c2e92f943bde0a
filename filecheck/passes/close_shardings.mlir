// RUN: sdy-opt %s --sdy-close-shardings | filecheck %s

// Every place that holds a sharding: arguments, results, ops, edges, borders of computations.

sdy.mesh @mesh = <["x"=4, "y"=2]>
sdy.mesh @one = <[], device_ids=[0]>

func.func @main(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", ?}p1, {?}]>}) -> (tensor<8x8xf32> {jax.result_info = "r", sdy.sharding = #sdy.sharding<@mesh, [{}, {?}], replicated={"x"}>}) {
  %0 = sdy.reshard %arg0 <@mesh, [{?}, {"y", ?}], unreduced={"x"}> : tensor<8x8xf32>
  %1 = stablehlo.add %0, %0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x":(1)2, ?}, {"y"}], replicated={"x":(2)2}>]>} : tensor<8x8xf32>
  %2 = sdy.manual_computation(%1) in_shardings=[<@mesh, [{"x", ?}, {?}]>] out_shardings=[<@mesh, [{"x", "y", ?}, {}]>] manual_axes={"x"} (%arg1: tensor<2x8xf32>) {
    %3 = sdy.all_slice [{"y"}, {}] %arg1 out_sharding=<@mesh, [{"y", ?}, {}]> : tensor<2x8xf32>
    sdy.return %3 : tensor<2x8xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  stablehlo.custom_call @nothing(%2) {has_side_effect = true, sdy.sharding = #sdy.sharding_per_value<[<@one, []>]>} : (tensor<8x8xf32>) -> ()
  return %2 : tensor<8x8xf32>
}

// CHECK:      module {
// CHECK-NEXT:   sdy.mesh @mesh = <["x"=4, "y"=2]>
// CHECK-NEXT:   sdy.mesh @one = <[], device_ids=[0]>
// CHECK-NEXT:   func.func @main(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}p1, {}]>}) -> (tensor<8x8xf32> {jax.result_info = "r", sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
// CHECK-NEXT:     %0 = sdy.reshard %arg0 <@mesh, [{}, {"y"}], unreduced={"x"}> : tensor<8x8xf32>
// CHECK-NEXT:     %1 = stablehlo.add %0, %0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x":(1)2}, {"y"}]>]>} : tensor<8x8xf32>
// CHECK-NEXT:     %2 = sdy.manual_computation(%1) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x", "y"}, {}]>] manual_axes={"x"} (%arg1: tensor<2x8xf32>) {
// CHECK-NEXT:       %3 = sdy.all_slice [{"y"}, {}] %arg1 out_sharding=<@mesh, [{"y"}, {}]> : tensor<2x8xf32>
// CHECK-NEXT:       sdy.return %3 : tensor<2x8xf32>
// CHECK-NEXT:     } : (tensor<8x8xf32>) -> tensor<8x8xf32>
// CHECK-NEXT:     stablehlo.custom_call @nothing(%2) {has_side_effect = true, sdy.sharding = #sdy.sharding_per_value<[<@one, []>]>} : (tensor<8x8xf32>) -> ()
// CHECK-NEXT:     return %2 : tensor<8x8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT: }
