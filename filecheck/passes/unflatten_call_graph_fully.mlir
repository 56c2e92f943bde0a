// RUN: sdy-opt %s --split-input-file --sdy-unflatten-call-graph='dedup-functions-fully=true' | filecheck %s

// The copy in the shardings that most calls have serves all calls.

sdy.mesh @mesh = <["x"=2, "y"=2]>

func.func @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  %0 = call @f(%arg0) : (tensor<8xf32>) -> tensor<8xf32>
  %1 = call @f_0(%0) : (tensor<8xf32>) -> tensor<8xf32>
  %2 = call @f_1(%1) : (tensor<8xf32>) -> tensor<8xf32>
  return %2 : tensor<8xf32>
}

func.func private @f(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32> {
  return %arg0 : tensor<8xf32>
}

func.func private @f_0(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}]>}) -> tensor<8xf32> attributes {sdy.original_func_name = "f"} {
  return %arg0 : tensor<8xf32>
}

func.func private @f_1(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}]>}) -> tensor<8xf32> attributes {sdy.original_func_name = "f"} {
  return %arg0 : tensor<8xf32>
}

// -----

sdy.mesh @mesh = <["x"=2, "y"=2]>

func.func @the_first_wins_a_tie(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  %0 = call @g(%arg0) : (tensor<8xf32>) -> tensor<8xf32>
  %1 = call @g_0(%0) : (tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}

func.func private @g_0(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}]>}) -> tensor<8xf32> attributes {sdy.original_func_name = "g"} {
  return %arg0 : tensor<8xf32>
}

func.func private @g(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32> {
  return %arg0 : tensor<8xf32>
}

// CHECK:      module {
// CHECK-NEXT:   sdy.mesh @mesh = <["x"=2, "y"=2]>
// CHECK-NEXT:   func.func @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {
// CHECK-NEXT:     %0 = call @f_1(%arg0) : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:     %1 = call @f_1(%0) : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:     %2 = call @f_1(%1) : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:     return %2 : tensor<8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @f(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32> {
// CHECK-NEXT:     return %arg0 : tensor<8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @f_0(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}]>}) -> tensor<8xf32> {
// CHECK-NEXT:     return %arg0 : tensor<8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @f_1(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}]>}) -> tensor<8xf32> {
// CHECK-NEXT:     return %arg0 : tensor<8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT: }

// CHECK:      module {
// CHECK-NEXT:   sdy.mesh @mesh = <["x"=2, "y"=2]>
// CHECK-NEXT:   func.func @the_first_wins_a_tie(%arg0: tensor<8xf32>) -> tensor<8xf32> {
// CHECK-NEXT:     %0 = call @g(%arg0) : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:     %1 = call @g(%0) : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:     return %1 : tensor<8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @g_0(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}]>}) -> tensor<8xf32> {
// CHECK-NEXT:     return %arg0 : tensor<8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @g(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32> {
// CHECK-NEXT:     return %arg0 : tensor<8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT: }
