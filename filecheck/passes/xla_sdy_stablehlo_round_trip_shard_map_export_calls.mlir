// RUN: sdy-opt %s --xla-sdy-stablehlo-round-trip-shard-map-export | filecheck %s

// What is manual in a computation is so in the functions that it calls; one that is called outside too is copied.
// A sharding on a mesh without axes is one of the mesh that is manual. Branches have the mark without a sharding.

sdy.mesh @mesh = <["x"=4, "y"=2]>
sdy.mesh @empty = <[]>
func.func @main(%arg0: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%arg1: tensor<2x8xf32>) {
    %2 = stablehlo.custom_call @callback(%arg1) {sdy.sharding = #sdy.sharding_per_value<[<@empty, [{}, {}]>]>} : (tensor<2x8xf32>) -> tensor<2x8xf32>
    %3 = func.call @shared(%2) : (tensor<2x8xf32>) -> tensor<2x8xf32>
    %4 = stablehlo.constant dense<true> : tensor<i1>
    %5 = "stablehlo.if"(%4) ({
      stablehlo.return %3 : tensor<2x8xf32>
    }, {
      stablehlo.return %2 : tensor<2x8xf32>
    }) : (tensor<i1>) -> tensor<2x8xf32>
    sdy.return %5 : tensor<2x8xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = call @around(%arg0) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0, %1 : tensor<8x8xf32>, tensor<8x8xf32>
}
func.func private @around(%arg0: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = stablehlo.slice %arg0 [0:2, 0:8] : (tensor<8x8xf32>) -> tensor<2x8xf32>
  %1 = call @shared(%0) : (tensor<2x8xf32>) -> tensor<2x8xf32>
  return %arg0 : tensor<8x8xf32>
}
func.func private @shared(%arg0: tensor<2x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}]>}) -> tensor<2x8xf32> {
  %0 = stablehlo.negate %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"y"}]>]>} : tensor<2x8xf32>
  return %0 : tensor<2x8xf32>
}

// CHECK:      module {
// CHECK-NEXT:   sdy.mesh @mesh = <["x"=4, "y"=2]>
// CHECK-NEXT:   sdy.mesh @empty = <[]>
// CHECK-NEXT:   func.func @main(%arg0: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
// CHECK-NEXT:     %0 = stablehlo.custom_call @Sharding(%arg0) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
// CHECK-NEXT:     %1 = stablehlo.custom_call @SPMDFullToShardShape(%0) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>, xla.sdy.manual_axes = #sdy<manual_axes{"x"}>} : (tensor<8x8xf32>) -> tensor<2x8xf32>
// CHECK-NEXT:     %2 = call @shmap_body(%1) : (tensor<2x8xf32>) -> tensor<2x8xf32>
// CHECK-NEXT:     %3 = stablehlo.custom_call @Sharding(%2) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>, xla.sdy.manual_axes = #sdy<manual_axes{"x"}>} : (tensor<2x8xf32>) -> tensor<2x8xf32>
// CHECK-NEXT:     %4 = stablehlo.custom_call @SPMDShardToFullShape(%3) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : (tensor<2x8xf32>) -> tensor<8x8xf32>
// CHECK-NEXT:     %5 = call @around(%arg0) : (tensor<8x8xf32>) -> tensor<8x8xf32>
// CHECK-NEXT:     return %4, %5 : tensor<8x8xf32>, tensor<8x8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @around(%arg0: tensor<8x8xf32>) -> tensor<8x8xf32> {
// CHECK-NEXT:     %0 = stablehlo.slice %arg0 [0:2, 0:8] : (tensor<8x8xf32>) -> tensor<2x8xf32>
// CHECK-NEXT:     %1 = call @shared_0(%0) : (tensor<2x8xf32>) -> tensor<2x8xf32>
// CHECK-NEXT:     return %arg0 : tensor<8x8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @shared(%arg0: tensor<2x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}]>, xla.sdy.manual_axes = #sdy<manual_axes{"x"}>}) -> tensor<2x8xf32> {
// CHECK-NEXT:     %0 = stablehlo.negate %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"y"}]>]>, xla.sdy.manual_axes = #sdy<manual_axes{"x"}>} : tensor<2x8xf32>
// CHECK-NEXT:     return %0 : tensor<2x8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @shared_0(%arg0: tensor<2x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}]>}) -> tensor<2x8xf32> {
// CHECK-NEXT:     %0 = stablehlo.negate %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"y"}]>]>} : tensor<2x8xf32>
// CHECK-NEXT:     return %0 : tensor<2x8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @shmap_body(%arg0: tensor<2x8xf32>) -> tensor<2x8xf32> {
// CHECK-NEXT:     %0 = stablehlo.custom_call @callback(%arg0) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>, xla.sdy.manual_axes = #sdy<manual_axes{"x"}>} : (tensor<2x8xf32>) -> tensor<2x8xf32>
// CHECK-NEXT:     %1 = call @shared(%0) : (tensor<2x8xf32>) -> tensor<2x8xf32>
// CHECK-NEXT:     %c = stablehlo.constant dense<true> : tensor<i1>
// CHECK-NEXT:     %2 = "stablehlo.if"(%c) ({
// CHECK-NEXT:       stablehlo.return %1 : tensor<2x8xf32>
// CHECK-NEXT:     }, {
// CHECK-NEXT:       stablehlo.return %0 : tensor<2x8xf32>
// CHECK-NEXT:     }) {xla.sdy.manual_axes = #sdy<manual_axes{"x"}>} : (tensor<i1>) -> tensor<2x8xf32>
// CHECK-NEXT:     return %2 : tensor<2x8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT: }
