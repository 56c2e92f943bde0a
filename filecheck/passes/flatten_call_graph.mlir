// RUN: sdy-opt %s --sdy-flatten-call-graph | filecheck %s

// After the first call of a function, every further call gets a copy of it and of all that it calls.

func.func @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  %0 = call @outer(%arg0) : (tensor<8xf32>) -> tensor<8xf32>
  %1 = call @inner(%0) : (tensor<8xf32>) -> tensor<8xf32>
  %2 = call @outer(%1) {mhlo.frontend_attributes = {key = "value"}} : (tensor<8xf32>) -> tensor<8xf32>
  return %2 : tensor<8xf32>
}

func.func private @inner(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  %0 = stablehlo.negate %arg0 : tensor<8xf32>
  return %0 : tensor<8xf32>
}

func.func private @outer(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  %0 = call @inner(%arg0) : (tensor<8xf32>) -> tensor<8xf32>
  %1 = call @inner(%0) : (tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}

func.func private @inner_0(%arg0: tensor<8xf32>) -> tensor<8xf32> attributes {sdy.original_func_name = "taken"} {
  return %arg0 : tensor<8xf32>
}

func.func @other_entry(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  %0 = call @inner_0(%arg0) : (tensor<8xf32>) -> tensor<8xf32>
  %1 = call @inner_0(%0) : (tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}

// CHECK:      module {
// CHECK-NEXT:   func.func @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {
// CHECK-NEXT:     %0 = call @outer(%arg0) : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:     %1 = call @inner_2(%0) : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:     %2 = call @outer_5(%1) {mhlo.frontend_attributes = {key = "value"}} : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:     return %2 : tensor<8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @inner(%arg0: tensor<8xf32>) -> tensor<8xf32> {
// CHECK-NEXT:     %0 = stablehlo.negate %arg0 : tensor<8xf32>
// CHECK-NEXT:     return %0 : tensor<8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @outer(%arg0: tensor<8xf32>) -> tensor<8xf32> {
// CHECK-NEXT:     %0 = call @inner(%arg0) : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:     %1 = call @inner_1(%0) : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:     return %1 : tensor<8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @inner_0(%arg0: tensor<8xf32>) -> tensor<8xf32> attributes {sdy.original_func_name = "taken"} {
// CHECK-NEXT:     return %arg0 : tensor<8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @other_entry(%arg0: tensor<8xf32>) -> tensor<8xf32> {
// CHECK-NEXT:     %0 = call @inner_0(%arg0) : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:     %1 = call @inner_0_6(%0) : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:     return %1 : tensor<8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @inner_1(%arg0: tensor<8xf32>) -> tensor<8xf32> attributes {sdy.original_func_name = "inner"} {
// CHECK-NEXT:     %0 = stablehlo.negate %arg0 : tensor<8xf32>
// CHECK-NEXT:     return %0 : tensor<8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @inner_2(%arg0: tensor<8xf32>) -> tensor<8xf32> attributes {sdy.original_func_name = "inner"} {
// CHECK-NEXT:     %0 = stablehlo.negate %arg0 : tensor<8xf32>
// CHECK-NEXT:     return %0 : tensor<8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @inner_3(%arg0: tensor<8xf32>) -> tensor<8xf32> attributes {sdy.original_func_name = "inner"} {
// CHECK-NEXT:     %0 = stablehlo.negate %arg0 : tensor<8xf32>
// CHECK-NEXT:     return %0 : tensor<8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @inner_1_4(%arg0: tensor<8xf32>) -> tensor<8xf32> attributes {sdy.original_func_name = "inner"} {
// CHECK-NEXT:     %0 = stablehlo.negate %arg0 : tensor<8xf32>
// CHECK-NEXT:     return %0 : tensor<8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @outer_5(%arg0: tensor<8xf32>) -> tensor<8xf32> attributes {sdy.original_func_name = "outer"} {
// CHECK-NEXT:     %0 = call @inner_3(%arg0) : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:     %1 = call @inner_1_4(%0) : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:     return %1 : tensor<8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @inner_0_6(%arg0: tensor<8xf32>) -> tensor<8xf32> attributes {sdy.original_func_name = "taken"} {
// CHECK-NEXT:     return %arg0 : tensor<8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT: }
