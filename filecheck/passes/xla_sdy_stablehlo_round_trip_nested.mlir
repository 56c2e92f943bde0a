// RUN: sdy-opt %s --xla-sdy-stablehlo-export-pipeline --xla-sdy-stablehlo-import-pipeline='mesh-axes=x=4,y=2' | filecheck %s

// To GSPMD's form and back: a computation within another keeps its own manual axes.

sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func @main(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<8x8xf32> {
  %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%arg1: tensor<2x8xf32>) {
    %1 = sdy.manual_computation(%arg1) in_shardings=[<@mesh, [{}, {"y"}]>] out_shardings=[<@mesh, [{}, {"y"}]>] manual_axes={"y"} (%arg2: tensor<2x4xf32>) {
      %2 = stablehlo.negate %arg2 : tensor<2x4xf32>
      sdy.return %2 : tensor<2x4xf32>
    } : (tensor<2x8xf32>) -> tensor<2x8xf32>
    %3 = sdy.sharding_constraint %1 <@mesh, [{?}, {"y"}]> : tensor<2x8xf32>
    sdy.return %3 : tensor<2x8xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// CHECK:      module {
// CHECK-NEXT:   sdy.mesh @mesh = <["x"=4, "y"=2]>
// CHECK-NEXT:   func.func @main(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<8x8xf32> {
// CHECK-NEXT:     %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%arg1: tensor<2x8xf32>) {
// CHECK-NEXT:       %1 = sdy.manual_computation(%arg1) in_shardings=[<@mesh, [{}, {"y"}]>] out_shardings=[<@mesh, [{}, {"y"}]>] manual_axes={"y"} (%arg2: tensor<2x4xf32>) {
// CHECK-NEXT:         %3 = stablehlo.negate %arg2 : tensor<2x4xf32>
// CHECK-NEXT:         sdy.return %3 : tensor<2x4xf32>
// CHECK-NEXT:       } : (tensor<2x8xf32>) -> tensor<2x8xf32>
// CHECK-NEXT:       %2 = sdy.sharding_constraint %1 <@mesh, [{?}, {"y"}]> : tensor<2x8xf32>
// CHECK-NEXT:       sdy.return %2 : tensor<2x8xf32>
// CHECK-NEXT:     } : (tensor<8x8xf32>) -> tensor<8x8xf32>
// CHECK-NEXT:     return %0 : tensor<8x8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT: }
