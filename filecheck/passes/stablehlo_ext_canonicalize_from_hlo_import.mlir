// RUN: sdy-opt %s --stablehlo-ext-canonicalize-from-hlo-import | filecheck %s

// Tuples within tuples, of operands and results; one without elements; one that a function takes.

func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<4xf32>) -> tensor<8xf32> {
  %t = stablehlo.tuple %arg0, %arg1 : tuple<tensor<8xf32>, tensor<4xf32>>
  %0 = stablehlo.custom_call @f(%t, %arg0) {mhlo.sharding = "{{devices=[2]<=[2]}, {replicated}, {devices=[2]<=[2]}}"} : (tuple<tensor<8xf32>, tensor<4xf32>>, tensor<8xf32>) -> tuple<tuple<tensor<8xf32>, tensor<4xf32>>, tensor<8xf32>>
  %1 = stablehlo.get_tuple_element %0[0] : (tuple<tuple<tensor<8xf32>, tensor<4xf32>>, tensor<8xf32>>) -> tuple<tensor<8xf32>, tensor<4xf32>>
  %2 = stablehlo.get_tuple_element %1[0] : (tuple<tensor<8xf32>, tensor<4xf32>>) -> tensor<8xf32>
  %3 = stablehlo.custom_call @g(%1) {has_side_effect = true} : (tuple<tensor<8xf32>, tensor<4xf32>>) -> tuple<>
  return %2 : tensor<8xf32>
}
func.func @taken(%arg0: tuple<tensor<8xf32>>) -> tuple<tensor<4xf32>> {
  %0 = stablehlo.custom_call @h(%arg0) : (tuple<tensor<8xf32>>) -> tuple<tensor<4xf32>>
  return %0 : tuple<tensor<4xf32>>
}

// CHECK:      module {
// CHECK-NEXT:   func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<4xf32>) -> tensor<8xf32> {
// CHECK-NEXT{LITERAL}:     %0:3 = stablehlo.custom_call @f(%arg0, %arg1, %arg0) {mhlo.sharding = "{{devices=[2]<=[2]}, {replicated}, {devices=[2]<=[2]}}"} : (tensor<8xf32>, tensor<4xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<4xf32>, tensor<8xf32>)
// CHECK-NEXT:     stablehlo.custom_call @g(%0#0, %0#1) {has_side_effect = true} : (tensor<8xf32>, tensor<4xf32>) -> ()
// CHECK-NEXT:     return %0#0 : tensor<8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @taken(%arg0: tuple<tensor<8xf32>>) -> tuple<tensor<4xf32>> {
// CHECK-NEXT:     %0 = stablehlo.get_tuple_element %arg0[0] : (tuple<tensor<8xf32>>) -> tensor<8xf32>
// CHECK-NEXT:     %1 = stablehlo.custom_call @h(%0) : (tensor<8xf32>) -> tensor<4xf32>
// CHECK-NEXT:     %2 = stablehlo.tuple %1 : tuple<tensor<4xf32>>
// CHECK-NEXT:     return %2 : tuple<tensor<4xf32>>
// CHECK-NEXT:   }
// CHECK-NEXT: }
