// RUN: sdy-opt %s --split-input-file --sdy-sharding-group-import | filecheck %s

// Groups that share a member are one; ids count up from 0; what says the same twice is said once.

func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>, %arg2: tensor<8xf32>, %arg3: tensor<4xf32>, %arg4: tensor<8xf32>) {
  sdy.sharding_group %arg4 group_id=100 : tensor<8xf32>
  sdy.sharding_group %arg0 group_id=7 : tensor<8xf32>
  sdy.sharding_group %arg1 group_id=7 : tensor<8xf32>
  sdy.sharding_group %arg1 group_id=5 : tensor<8xf32>
  sdy.sharding_group %arg2 group_id=5 : tensor<8xf32>
  sdy.sharding_group %arg2 group_id=5 : tensor<8xf32>
  sdy.sharding_group %arg3 group_id=3 : tensor<4xf32>
  return
}

// -----

// Ids follow the ids that lead: 3 leads 1, which came before 2.
func.func @leaders(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>, %arg2: tensor<8xf32>) {
  sdy.sharding_group %arg0 group_id=1 : tensor<8xf32>
  sdy.sharding_group %arg1 group_id=2 : tensor<8xf32>
  sdy.sharding_group %arg2 group_id=3 : tensor<8xf32>
  sdy.sharding_group %arg2 group_id=1 : tensor<8xf32>
  return
}

// CHECK:      module {
// CHECK-NEXT:   func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>, %arg2: tensor<8xf32>, %arg3: tensor<4xf32>, %arg4: tensor<8xf32>) {
// CHECK-NEXT:     sdy.sharding_group %arg4 group_id=0 : tensor<8xf32>
// CHECK-NEXT:     sdy.sharding_group %arg0 group_id=1 : tensor<8xf32>
// CHECK-NEXT:     sdy.sharding_group %arg1 group_id=1 : tensor<8xf32>
// CHECK-NEXT:     sdy.sharding_group %arg2 group_id=1 : tensor<8xf32>
// CHECK-NEXT:     sdy.sharding_group %arg3 group_id=2 : tensor<4xf32>
// CHECK-NEXT:     return
// CHECK-NEXT:   }
// CHECK-NEXT: }

// CHECK:      module {
// CHECK-NEXT:   func.func @leaders(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>, %arg2: tensor<8xf32>) {
// CHECK-NEXT:     sdy.sharding_group %arg0 group_id=1 : tensor<8xf32>
// CHECK-NEXT:     sdy.sharding_group %arg1 group_id=0 : tensor<8xf32>
// CHECK-NEXT:     sdy.sharding_group %arg2 group_id=1 : tensor<8xf32>
// CHECK-NEXT:     return
// CHECK-NEXT:   }
// CHECK-NEXT: }
