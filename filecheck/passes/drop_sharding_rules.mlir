// RUN: sdy-opt %s --sdy-drop-sharding-rules | filecheck %s

// Rules go, inside regions too; those the user wrote stay.

func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<i32>) -> tensor<8xf32> {
  %0 = stablehlo.negate %arg0 {sdy.sharding_rule = #sdy.op_sharding_rule<([i])->([i]) {i=8}>} : tensor<8xf32>
  %1 = stablehlo.custom_call @mine(%0) {sdy.sharding_rule = #sdy.op_sharding_rule<([i])->([i]) {i=8}, custom>} : (tensor<8xf32>) -> tensor<8xf32>
  %2 = "stablehlo.case"(%arg1) ({
    %3 = stablehlo.abs %1 {sdy.sharding_rule = #sdy.op_sharding_rule<([i])->([i]) {i=8}>} : tensor<8xf32>
    stablehlo.return %3 : tensor<8xf32>
  }) : (tensor<i32>) -> tensor<8xf32>
  return %2 : tensor<8xf32>
}

// CHECK:      module {
// CHECK-NEXT:   func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<i32>) -> tensor<8xf32> {
// CHECK-NEXT:     %0 = stablehlo.negate %arg0 : tensor<8xf32>
// CHECK-NEXT:     %1 = stablehlo.custom_call @mine(%0) {sdy.sharding_rule = #sdy.op_sharding_rule<([i])->([i]) {i=8}, custom>} : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:     %2 = "stablehlo.case"(%arg1) ({
// CHECK-NEXT:       %3 = stablehlo.abs %1 : tensor<8xf32>
// CHECK-NEXT:       stablehlo.return %3 : tensor<8xf32>
// CHECK-NEXT:     }) : (tensor<i32>) -> tensor<8xf32>
// CHECK-NEXT:     return %2 : tensor<8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT: }
