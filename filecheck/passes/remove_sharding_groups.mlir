// RUN: sdy-opt %s --sdy-remove-sharding-groups | filecheck %s

// No sharding group is left, in no region.

func.func @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  sdy.sharding_group %arg0 group_id=0 : tensor<8xf32>
  %0 = sdy.named_computation<"f">(%arg0) (%arg1: tensor<8xf32>) {
    sdy.sharding_group %arg1 group_id=0 : tensor<8xf32>
    sdy.return %arg1 : tensor<8xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// CHECK:      module {
// CHECK-NEXT:   func.func @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {
// CHECK-NEXT:     %0 = sdy.named_computation<"f">(%arg0) (%arg1: tensor<8xf32>) {
// CHECK-NEXT:       sdy.return %arg1 : tensor<8xf32>
// CHECK-NEXT:     } : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:     return %0 : tensor<8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT: }
