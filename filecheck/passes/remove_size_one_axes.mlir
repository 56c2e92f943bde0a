// RUN: sdy-opt %s --split-input-file --sdy-remove-size-one-axes | filecheck %s

// Axes of size one go from every sharding, and priorities with the last axis of a closed dimension.

sdy.mesh @mesh = <["one"=1, "x"=2, "uno"=1, "y"=4]>

func.func @main(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"one", "x"}p2, {"uno"}p1]>},
                %arg1: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"one", ?}p3, {?}], replicated={"x", "uno"}, unreduced={"y"}>})
    -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"uno"}, {"y":(1)2, "x"}]>}) {
  %0 = stablehlo.add %arg0, %arg1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", "one", "y"}, {}]>]>} : tensor<8x8xf32>
  %1 = sdy.manual_computation(%0) in_shardings=[<@mesh, [{"one", "x"}, {}]>] out_shardings=[<@mesh, [{"one", "x"}, {"uno", ?}]>] manual_axes={"one", "x"} (%arg2: tensor<4x8xf32>) {
    %2 = sdy.sharding_constraint %arg2 <@mesh, [{?}, {"uno", "y"}]> : tensor<4x8xf32>
    sdy.return %2 : tensor<4x8xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}

// -----

sdy.mesh @nothing_to_do = <["x"=2]>

func.func @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@nothing_to_do, [{"x"}]>}) -> tensor<8xf32> {
  return %arg0 : tensor<8xf32>
}

// CHECK:      module {
// CHECK-NEXT:   sdy.mesh @mesh = <["one"=1, "x"=2, "uno"=1, "y"=4]>
// CHECK-NEXT:   func.func @main(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}p2, {}]>}, %arg1: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}p3, {?}], replicated={"x"}, unreduced={"y"}>}) -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y":(1)2, "x"}]>}) {
// CHECK-NEXT:     %0 = stablehlo.add %arg0, %arg1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", "y"}, {}]>]>} : tensor<8x8xf32>
// CHECK-NEXT:     %1 = sdy.manual_computation(%0) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {?}]>] manual_axes={"one", "x"} (%arg2: tensor<4x8xf32>) {
// CHECK-NEXT:       %2 = sdy.sharding_constraint %arg2 <@mesh, [{?}, {"y"}]> : tensor<4x8xf32>
// CHECK-NEXT:       sdy.return %2 : tensor<4x8xf32>
// CHECK-NEXT:     } : (tensor<8x8xf32>) -> tensor<8x8xf32>
// CHECK-NEXT:     return %1 : tensor<8x8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT: }

// CHECK:      module {
// CHECK-NEXT:   sdy.mesh @nothing_to_do = <["x"=2]>
// CHECK-NEXT:   func.func @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@nothing_to_do, [{"x"}]>}) -> tensor<8xf32> {
// CHECK-NEXT:     return %arg0 : tensor<8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT: }
