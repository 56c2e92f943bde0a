// RUN: sdy-opt %s --sdy-remove-sub-axes-in-input-output-shardings | filecheck %s

// Only the main function's, only of open dimensions.

sdy.mesh @mesh = <["x"=8, "y"=8]>

func.func @main(%arg0: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y", "x":(1)2, ?}, {"x":(2)4, ?}]>}) -> (tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x":(1)2}, {"y", ?}]>}) {
  %0 = call @f(%arg0) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y":(1)2, ?}, {?}]>]>} : (tensor<64x64xf32>) -> tensor<64x64xf32>
  return %0 : tensor<64x64xf32>
}

func.func private @f(%arg0: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x":(1)2, ?}, {?}]>}) -> tensor<64x64xf32> {
  return %arg0 : tensor<64x64xf32>
}

// CHECK:      module {
// CHECK-NEXT:   sdy.mesh @mesh = <["x"=8, "y"=8]>
// CHECK-NEXT:   func.func @main(%arg0: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y", ?}, {?}]>}) -> (tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x":(1)2}, {"y", ?}]>}) {
// CHECK-NEXT:     %0 = call @f(%arg0) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y":(1)2, ?}, {?}]>]>} : (tensor<64x64xf32>) -> tensor<64x64xf32>
// CHECK-NEXT:     return %0 : tensor<64x64xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @f(%arg0: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x":(1)2, ?}, {?}]>}) -> tensor<64x64xf32> {
// CHECK-NEXT:     return %arg0 : tensor<64x64xf32>
// CHECK-NEXT:   }
// CHECK-NEXT: }
