// RUN: sdy-opt %s --sdy-propagate-sharding-from-func-to-call | filecheck %s

// A call without shardings takes those of its function; one that has some keeps them.

sdy.mesh @mesh = <["x"=2, "y"=2]>
sdy.mesh @one_device = <[], device_ids=[1]>

func.func @main(%arg0: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0:2 = call @second_only(%arg0) : (tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8xf32>)
  %1:2 = call @second_only(%0#0) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>, <@mesh, [{?}]>]>} : (tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8xf32>)
  %2 = call @none(%1#0) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %3 = call @maximal(%2) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %3 : tensor<8x8xf32>
}

func.func private @second_only(%arg0: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", ?}]>}) {
  %0 = stablehlo.slice %arg0 [0:1, 0:8] : (tensor<8x8xf32>) -> tensor<1x8xf32>
  %1 = stablehlo.reshape %0 : (tensor<1x8xf32>) -> tensor<8xf32>
  return %arg0, %1 : tensor<8x8xf32>, tensor<8xf32>
}

func.func private @none(%arg0: tensor<8x8xf32>) -> tensor<8x8xf32> {
  return %arg0 : tensor<8x8xf32>
}

func.func private @maximal(%arg0: tensor<8x8xf32>) -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@one_device, []>}) {
  return %arg0 : tensor<8x8xf32>
}

// CHECK:      module {
// CHECK-NEXT:   sdy.mesh @mesh = <["x"=2, "y"=2]>
// CHECK-NEXT:   sdy.mesh @one_device = <[], device_ids=[1]>
// CHECK-NEXT:   func.func @main(%arg0: tensor<8x8xf32>) -> tensor<8x8xf32> {
// CHECK-NEXT:     %0:2 = call @second_only(%arg0) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {?}]>, <@mesh, [{"x", ?}]>]>} : (tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8xf32>)
// CHECK-NEXT:     %1:2 = call @second_only(%0#0) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>, <@mesh, [{?}]>]>} : (tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8xf32>)
// CHECK-NEXT:     %2 = call @none(%1#0) : (tensor<8x8xf32>) -> tensor<8x8xf32>
// CHECK-NEXT:     %3 = call @maximal(%2) : (tensor<8x8xf32>) -> tensor<8x8xf32>
// CHECK-NEXT:     return %3 : tensor<8x8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @second_only(%arg0: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", ?}]>}) {
// CHECK-NEXT:     %0 = stablehlo.slice %arg0 [0:1, 0:8] : (tensor<8x8xf32>) -> tensor<1x8xf32>
// CHECK-NEXT:     %1 = stablehlo.reshape %0 : (tensor<1x8xf32>) -> tensor<8xf32>
// CHECK-NEXT:     return %arg0, %1 : tensor<8x8xf32>, tensor<8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @none(%arg0: tensor<8x8xf32>) -> tensor<8x8xf32> {
// CHECK-NEXT:     return %arg0 : tensor<8x8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @maximal(%arg0: tensor<8x8xf32>) -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@one_device, []>}) {
// CHECK-NEXT:     return %arg0 : tensor<8x8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT: }
