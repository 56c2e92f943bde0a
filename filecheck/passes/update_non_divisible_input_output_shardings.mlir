// RUN: sdy-opt %s --sdy-update-non-divisible-input-output-shardings | filecheck %s

// Arguments, results, calls and borders of manual computations are cut; what ops make inside is not.

sdy.mesh @mesh = <["x"=4, "y"=2]>

func.func @main(%arg0: tensor<6x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", ?}, {"y"}]>}, %arg1: tensor<3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}]>}, %arg2: !stablehlo.token {sdy.sharding = #sdy.sharding<@mesh, []>}) -> (tensor<12x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y", "x"}, {}]>}, tensor<3xf32>) {
  %0 = stablehlo.broadcast_in_dim %arg1, dims = [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : (tensor<3xf32>) -> tensor<3x4xf32>
  %1 = call @f(%0) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {"y"}]>]>} : (tensor<3x4xf32>) -> tensor<12x4xf32>
  %2 = sdy.manual_computation(%1) in_shardings=[<@mesh, [{"y"}, {"x"}]>] out_shardings=[<@mesh, [{"y", "x"}, {}]>] manual_axes={"y"} (%arg3: tensor<6x4xf32>) {
    %3 = stablehlo.negate %arg3 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : tensor<6x4xf32>
    sdy.return %3 : tensor<6x4xf32>
  } : (tensor<12x4xf32>) -> tensor<12x4xf32>
  return %2, %arg1 : tensor<12x4xf32>, tensor<3xf32>
}

func.func private @f(%arg0: tensor<3x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<12x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}, {}]>}) {
  %0 = stablehlo.custom_call @grow(%arg0) : (tensor<3x4xf32>) -> tensor<12x4xf32>
  return %0 : tensor<12x4xf32>
}

// CHECK:      module {
// CHECK-NEXT:   sdy.mesh @mesh = <["x"=4, "y"=2]>
// CHECK-NEXT:   func.func @main(%arg0: tensor<6x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x":(1)2, ?}, {"y"}]>}, %arg1: tensor<3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}, %arg2: !stablehlo.token {sdy.sharding = #sdy.sharding<@mesh, []>}) -> (tensor<12x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y", "x":(1)2}, {}]>}, tensor<3xf32>) {
// CHECK-NEXT:     %0 = stablehlo.broadcast_in_dim %arg1, dims = [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : (tensor<3xf32>) -> tensor<3x4xf32>
// CHECK-NEXT:     %1 = call @f(%0) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {"y"}]>]>} : (tensor<3x4xf32>) -> tensor<12x4xf32>
// CHECK-NEXT:     %2 = sdy.manual_computation(%1) in_shardings=[<@mesh, [{"y"}, {"x"}]>] out_shardings=[<@mesh, [{"y", "x":(1)2}, {}]>] manual_axes={"y"} (%arg3: tensor<6x4xf32>) {
// CHECK-NEXT:       %3 = stablehlo.negate %arg3 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : tensor<6x4xf32>
// CHECK-NEXT:       sdy.return %3 : tensor<6x4xf32>
// CHECK-NEXT:     } : (tensor<12x4xf32>) -> tensor<12x4xf32>
// CHECK-NEXT:     return %2, %arg1 : tensor<12x4xf32>, tensor<3xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @f(%arg0: tensor<3x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) -> (tensor<12x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
// CHECK-NEXT:     %0 = stablehlo.custom_call @grow(%arg0) : (tensor<3x4xf32>) -> tensor<12x4xf32>
// CHECK-NEXT:     return %0 : tensor<12x4xf32>
// CHECK-NEXT:   }
// CHECK-NEXT: }
