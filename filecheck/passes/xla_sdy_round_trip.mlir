// RUN: sdy-opt %s --xla-sdy-round-trip-export-pipeline --xla-sdy-round-trip-import-pipeline | filecheck %s

// All that a program says of itself before propagation comes back.

sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func @main(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}p1, {?}]>}) -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}]>}) {
  %0 = sdy.sharding_constraint %arg0 <@mesh, [{?}, {"x"}]> : tensor<8x8xf32>
  %1 = sdy.manual_computation(%0) in_shardings=[<@mesh, [{"x", ?}, {?}]>] out_shardings=[<@mesh, [{"x", ?}, {?}]>] manual_axes={"x"} (%arg1: tensor<2x8xf32>) {
    %3 = stablehlo.negate %arg1 {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=2, j=8}>} : tensor<2x8xf32>
    sdy.return %3 : tensor<2x8xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = sdy.propagation_barrier %1 allowed_direction=NONE : tensor<8x8xf32>
  sdy.sharding_group %2 group_id=7 : tensor<8x8xf32>
  return %2 : tensor<8x8xf32>
}

// CHECK:      module {
// CHECK-NEXT:   sdy.mesh @mesh = <["x"=4, "y"=2]>
// CHECK-NEXT:   func.func @main(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}p1, {?}]>}) -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}]>}) {
// CHECK-NEXT:     %0 = sdy.sharding_constraint %arg0 <@mesh, [{?}, {"x"}]> : tensor<8x8xf32>
// CHECK-NEXT:     %1 = sdy.manual_computation(%0) in_shardings=[<@mesh, [{"x", ?}, {?}]>] out_shardings=[<@mesh, [{"x", ?}, {?}]>] manual_axes={"x"} (%arg1: tensor<2x8xf32>) {
// CHECK-NEXT:       %3 = stablehlo.negate %arg1 {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=2, j=8}>} : tensor<2x8xf32>
// CHECK-NEXT:       sdy.return %3 : tensor<2x8xf32>
// CHECK-NEXT:     } : (tensor<8x8xf32>) -> tensor<8x8xf32>
// CHECK-NEXT:     %2 = sdy.propagation_barrier %1 allowed_direction=NONE : tensor<8x8xf32>
// CHECK-NEXT:     sdy.sharding_group %2 group_id=7 : tensor<8x8xf32>
// CHECK-NEXT:     return %2 : tensor<8x8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT: }
