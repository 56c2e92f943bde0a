// RUN: sdy-opt %s --sdy-propagation-pipeline | filecheck %s
// RUN: sdy-opt %s --sdy-propagation-pipeline | sdy-opt - | filecheck %s

// Two matrix products: the batch stays sharded, the weight nobody annotated follows the other.

sdy.mesh @mesh = <["data"=4, "tensor"=2]>

func.func @main(%x: tensor<64x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>},
                %up: tensor<32x128xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"tensor"}]>},
                %down: tensor<128x32xf32>) -> tensor<64x32xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %zeros = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<64x128xf32>
  %0 = stablehlo.dot_general %x, %up, contracting_dims = [1] x [0] : (tensor<64x32xf32>, tensor<32x128xf32>) -> tensor<64x128xf32>
  %1 = stablehlo.maximum %0, %zeros : tensor<64x128xf32>
  %2 = stablehlo.dot_general %1, %down, contracting_dims = [1] x [0] : (tensor<64x128xf32>, tensor<128x32xf32>) -> tensor<64x32xf32>
  return %2 : tensor<64x32xf32>
}

// CHECK:      module {
// CHECK-NEXT:   sdy.mesh @mesh = <["data"=4, "tensor"=2]> {stablehlo.mesh = {axes = [{name = "data", size = 4 : i64}, {name = "tensor", size = 2 : i64}]}}
// CHECK-NEXT:   func.func @main(%arg0: tensor<64x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}, %arg1: tensor<32x128xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"tensor"}]>}, %arg2: tensor<128x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"tensor"}, {}]>}) -> (tensor<64x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}) {
// CHECK-NEXT:     %0 = sdy.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT:     %1 = stablehlo.broadcast_in_dim %0, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data"}, {"tensor"}]>]>} : (tensor<f32>) -> tensor<64x128xf32>
// CHECK-NEXT:     %2 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data"}, {"tensor"}]>]>} : (tensor<64x32xf32>, tensor<32x128xf32>) -> tensor<64x128xf32>
// CHECK-NEXT:     %3 = stablehlo.maximum %2, %1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data"}, {"tensor"}]>]>} : tensor<64x128xf32>
// CHECK-NEXT:     %4 = stablehlo.dot_general %3, %arg2, contracting_dims = [1] x [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data"}, {}]>]>} : (tensor<64x128xf32>, tensor<128x32xf32>) -> tensor<64x32xf32>
// CHECK-NEXT:     return %4 : tensor<64x32xf32>
// CHECK-NEXT:   }
// CHECK-NEXT: }
