// What StableHLO's newest source has and the reference has not yet. The text below is what it prints as.
//
// RUN: grep -v '^//' %s > %t.expected
// RUN: sdy-opt %s | diff %t.expected -
// RUN: sdy-opt %s --mlir-print-op-generic | sdy-opt - | diff %t.expected -
module {
  func.func @newer_than_the_reference(%arg0: tensor<8x4xf32>) {
    %0 = "stablehlo.collective_reduce"(%arg0) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %3 = stablehlo.add %arg1, %arg2 : tensor<f32>
      stablehlo.return %3 : tensor<f32>
    }) : (tensor<8x4xf32>) -> tensor<8x4xf32>
    %1 = stablehlo.composite "my.map" %arg0 ({
    ^bb0(%arg1: tensor<f32>):
      stablehlo.return %arg1 : tensor<f32>
    }) {decomposition = @whole} : (tensor<8x4xf32>) -> tensor<8x4xf32>
    %2 = stablehlo.custom_call @tiled(%arg0) {result_tilings = [[dense<[8, 128]> : tensor<2xindex>]]} : (tensor<8x4xf32>) -> tensor<8x4xf32>
    return
  }
  func.func @whole(%arg0: tensor<8x4xf32>) -> tensor<8x4xf32> {
    return %arg0 : tensor<8x4xf32>
  }
}
