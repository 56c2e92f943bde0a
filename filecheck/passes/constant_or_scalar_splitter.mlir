// RUN: sdy-opt %s --split-input-file --sdy-constant-or-scalar-splitter | filecheck %s

// Every use gets its own copy of what is computed of constants, and of broadcast scalars; scalars stay shared.

func.func @constants(%arg0: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %scalar = stablehlo.constant dense<2.000000e+00> : tensor<f32>
  %matrix = stablehlo.constant dense<1.000000e+00> : tensor<8x8xf32>
  %unused = stablehlo.constant dense<3.000000e+00> : tensor<8x8xf32>
  %0 = stablehlo.broadcast_in_dim %scalar, dims = [] : (tensor<f32>) -> tensor<8x8xf32>
  %1 = stablehlo.add %0, %matrix : tensor<8x8xf32>
  %2 = stablehlo.iota dim = 0 : tensor<8x8xf32>
  %3 = stablehlo.multiply %1, %1 : tensor<8x8xf32>
  %4 = stablehlo.multiply %arg0, %3 : tensor<8x8xf32>
  %5 = stablehlo.multiply %4, %3 : tensor<8x8xf32>
  %6 = stablehlo.add %2, %5 : tensor<8x8xf32>
  %7 = stablehlo.maximum %matrix, %6 : tensor<8x8xf32>
  return %7, %matrix : tensor<8x8xf32>, tensor<8x8xf32>
}

// -----

func.func @broadcast_scalars(%arg0: tensor<8x8xf32>, %arg1: tensor<f32>) -> tensor<8x8xf32> {
  %0 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<f32>) -> tensor<8x8xf32>
  sdy.sharding_group %0 group_id=0 : tensor<8x8xf32>
  %1 = stablehlo.add %arg0, %0 : tensor<8x8xf32>
  %2 = stablehlo.multiply %0, %1 : tensor<8x8xf32>
  %3 = stablehlo.cosine %arg1 : tensor<f32>
  %4 = stablehlo.broadcast_in_dim %3, dims = [] : (tensor<f32>) -> tensor<8x8xf32>
  %5 = stablehlo.divide %4, %2 : tensor<8x8xf32>
  return %5 : tensor<8x8xf32>
}

// -----

func.func @regions(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  %c = stablehlo.constant dense<0> : tensor<i32>
  %ones = stablehlo.constant dense<1.000000e+00> : tensor<8xf32>
  %limit = stablehlo.constant dense<5> : tensor<i32>
  %0:2 = stablehlo.while(%i = %c, %x = %ones) : tensor<i32>, tensor<8xf32>
    cond {
      %1 = stablehlo.compare LT, %i, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %1 = stablehlo.add %x, %ones : tensor<8xf32>
      %2 = stablehlo.negate %ones : tensor<8xf32>
      %3 = stablehlo.multiply %1, %2 : tensor<8xf32>
      stablehlo.return %i, %3 : tensor<i32>, tensor<8xf32>
    }
  return %0#1 : tensor<8xf32>
}

// -----

sdy.mesh @mesh = <["x"=2]>

func.func @effects_are_no_constants(%arg0: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %0 = stablehlo.constant dense<1.000000e+00> : tensor<8xf32>
  %1 = sdy.sharding_constraint %0 <@mesh, [{"x"}]> : tensor<8xf32>
  %2 = sdy.propagation_barrier %0 allowed_direction=NONE : tensor<8xf32>
  %3 = stablehlo.add %1, %arg0 : tensor<8xf32>
  %4 = stablehlo.add %2, %3 : tensor<8xf32>
  %5 = stablehlo.transpose %0, dims = [0] : (tensor<8xf32>) -> tensor<8xf32>
  %6 = stablehlo.subtract %4, %5 : tensor<8xf32>
  %7 = stablehlo.subtract %2, %1 : tensor<8xf32>
  return %6, %7 : tensor<8xf32>, tensor<8xf32>
}

// -----

func.func @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  %0 = call @constant_function() : () -> tensor<8xf32>
  %1 = stablehlo.constant dense<2.000000e+00> : tensor<8xf32>
  %2 = call @preserving_function(%1) : (tensor<8xf32>) -> tensor<8xf32>
  %3 = call @varying_function(%1) : (tensor<8xf32>) -> tensor<8xf32>
  %4 = stablehlo.add %0, %arg0 : tensor<8xf32>
  %5 = stablehlo.add %0, %4 : tensor<8xf32>
  %6 = stablehlo.add %2, %5 : tensor<8xf32>
  %7 = stablehlo.add %2, %6 : tensor<8xf32>
  %8 = stablehlo.add %3, %7 : tensor<8xf32>
  %9 = stablehlo.add %3, %8 : tensor<8xf32>
  %10 = sdy.named_computation<"inner">(%1) (%arg1: tensor<8xf32>) {
    %12 = stablehlo.negate %arg1 : tensor<8xf32>
    sdy.return %12 : tensor<8xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  %11 = stablehlo.add %10, %9 : tensor<8xf32>
  return %11 : tensor<8xf32>
}

func.func private @constant_function() -> tensor<8xf32> {
  %0 = stablehlo.constant dense<1.000000e+00> : tensor<8xf32>
  %1 = stablehlo.add %0, %0 : tensor<8xf32>
  return %1 : tensor<8xf32>
}

func.func private @preserving_function(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  %0 = call @constant_function() : () -> tensor<8xf32>
  %1 = stablehlo.negate %arg0 : tensor<8xf32>
  return %1 : tensor<8xf32>
}

func.func private @varying_function(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  %0 = stablehlo.reverse %arg0, dims = [0] : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// CHECK:      module {
// CHECK-NEXT:   func.func @constants(%arg0: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
// CHECK-NEXT:     %0 = sdy.constant dense<2.000000e+00> : tensor<f32>
// CHECK-NEXT:     %1 = sdy.constant dense<1.000000e+00> : tensor<8x8xf32>
// CHECK-NEXT:     %2 = sdy.constant dense<1.000000e+00> : tensor<8x8xf32>
// CHECK-NEXT:     %3 = sdy.constant dense<1.000000e+00> : tensor<8x8xf32>
// CHECK-NEXT:     %4 = sdy.constant dense<1.000000e+00> : tensor<8x8xf32>
// CHECK-NEXT:     %5 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<8x8xf32>
// CHECK-NEXT:     %6 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<8x8xf32>
// CHECK-NEXT:     %7 = stablehlo.add %5, %1 : tensor<8x8xf32>
// CHECK-NEXT:     %8 = stablehlo.add %6, %2 : tensor<8x8xf32>
// CHECK-NEXT:     %9 = stablehlo.iota dim = 0 : tensor<8x8xf32>
// CHECK-NEXT:     %10 = stablehlo.multiply %7, %7 : tensor<8x8xf32>
// CHECK-NEXT:     %11 = stablehlo.multiply %8, %8 : tensor<8x8xf32>
// CHECK-NEXT:     %12 = stablehlo.multiply %arg0, %10 : tensor<8x8xf32>
// CHECK-NEXT:     %13 = stablehlo.multiply %12, %11 : tensor<8x8xf32>
// CHECK-NEXT:     %14 = stablehlo.add %9, %13 : tensor<8x8xf32>
// CHECK-NEXT:     %15 = stablehlo.maximum %3, %14 : tensor<8x8xf32>
// CHECK-NEXT:     return %15, %4 : tensor<8x8xf32>, tensor<8x8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT: }

// CHECK:      module {
// CHECK-NEXT:   func.func @broadcast_scalars(%arg0: tensor<8x8xf32>, %arg1: tensor<f32>) -> tensor<8x8xf32> {
// CHECK-NEXT:     %0 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<f32>) -> tensor<8x8xf32>
// CHECK-NEXT:     sdy.sharding_group %0 group_id=0 : tensor<8x8xf32>
// CHECK-NEXT:     %1 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<f32>) -> tensor<8x8xf32>
// CHECK-NEXT:     sdy.sharding_group %1 group_id=0 : tensor<8x8xf32>
// CHECK-NEXT:     %2 = stablehlo.add %arg0, %0 : tensor<8x8xf32>
// CHECK-NEXT:     %3 = stablehlo.multiply %1, %2 : tensor<8x8xf32>
// CHECK-NEXT:     %4 = stablehlo.cosine %arg1 : tensor<f32>
// CHECK-NEXT:     %5 = stablehlo.broadcast_in_dim %4, dims = [] : (tensor<f32>) -> tensor<8x8xf32>
// CHECK-NEXT:     %6 = stablehlo.divide %5, %3 : tensor<8x8xf32>
// CHECK-NEXT:     return %6 : tensor<8x8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT: }

// CHECK:      module {
// CHECK-NEXT:   func.func @regions(%arg0: tensor<8xf32>) -> tensor<8xf32> {
// CHECK-NEXT:     %0 = sdy.constant dense<0> : tensor<i32>
// CHECK-NEXT:     %1 = sdy.constant dense<1.000000e+00> : tensor<8xf32>
// CHECK-NEXT:     %2 = sdy.constant dense<1.000000e+00> : tensor<8xf32>
// CHECK-NEXT:     %3 = sdy.constant dense<1.000000e+00> : tensor<8xf32>
// CHECK-NEXT:     %4 = sdy.constant dense<5> : tensor<i32>
// CHECK-NEXT:     %5:2 = stablehlo.while(%iterArg = %0, %iterArg_0 = %1) : tensor<i32>, tensor<8xf32>
// CHECK-NEXT:     cond {
// CHECK-NEXT:       %6 = stablehlo.compare LT, %iterArg, %4 : (tensor<i32>, tensor<i32>) -> tensor<i1>
// CHECK-NEXT:       stablehlo.return %6 : tensor<i1>
// CHECK-NEXT:     } do {
// CHECK-NEXT:       %6 = stablehlo.add %iterArg_0, %2 : tensor<8xf32>
// CHECK-NEXT:       %7 = stablehlo.negate %3 : tensor<8xf32>
// CHECK-NEXT:       %8 = stablehlo.multiply %6, %7 : tensor<8xf32>
// CHECK-NEXT:       stablehlo.return %iterArg, %8 : tensor<i32>, tensor<8xf32>
// CHECK-NEXT:     }
// CHECK-NEXT:     return %5#1 : tensor<8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT: }

// CHECK:      module {
// CHECK-NEXT:   sdy.mesh @mesh = <["x"=2]>
// CHECK-NEXT:   func.func @effects_are_no_constants(%arg0: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
// CHECK-NEXT:     %0 = sdy.constant dense<1.000000e+00> : tensor<8xf32>
// CHECK-NEXT:     %1 = sdy.constant dense<1.000000e+00> : tensor<8xf32>
// CHECK-NEXT:     %2 = sdy.constant dense<1.000000e+00> : tensor<8xf32>
// CHECK-NEXT:     %3 = sdy.constant dense<1.000000e+00> : tensor<8xf32>
// CHECK-NEXT:     %4 = sdy.sharding_constraint %0 <@mesh, [{"x"}]> : tensor<8xf32>
// CHECK-NEXT:     %5 = sdy.propagation_barrier %1 allowed_direction=NONE : tensor<8xf32>
// CHECK-NEXT:     %6 = sdy.propagation_barrier %3 allowed_direction=NONE : tensor<8xf32>
// CHECK-NEXT:     %7 = stablehlo.add %4, %arg0 : tensor<8xf32>
// CHECK-NEXT:     %8 = stablehlo.add %5, %7 : tensor<8xf32>
// CHECK-NEXT:     %9 = stablehlo.transpose %2, dims = [0] : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:     %10 = stablehlo.subtract %8, %9 : tensor<8xf32>
// CHECK-NEXT:     %11 = stablehlo.subtract %6, %4 : tensor<8xf32>
// CHECK-NEXT:     return %10, %11 : tensor<8xf32>, tensor<8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT: }

// CHECK:      module {
// CHECK-NEXT:   func.func @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {
// CHECK-NEXT:     %0 = call @constant_function_0() : () -> tensor<8xf32>
// CHECK-NEXT:     %1 = call @constant_function_1() : () -> tensor<8xf32>
// CHECK-NEXT:     %2 = sdy.constant dense<2.000000e+00> : tensor<8xf32>
// CHECK-NEXT:     %3 = sdy.constant dense<2.000000e+00> : tensor<8xf32>
// CHECK-NEXT:     %4 = sdy.constant dense<2.000000e+00> : tensor<8xf32>
// CHECK-NEXT:     %5 = sdy.constant dense<2.000000e+00> : tensor<8xf32>
// CHECK-NEXT:     %6 = call @preserving_function_2(%3) : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:     %7 = call @preserving_function_3(%4) : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:     %8 = call @varying_function(%2) : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:     %9 = stablehlo.add %0, %arg0 : tensor<8xf32>
// CHECK-NEXT:     %10 = stablehlo.add %1, %9 : tensor<8xf32>
// CHECK-NEXT:     %11 = stablehlo.add %6, %10 : tensor<8xf32>
// CHECK-NEXT:     %12 = stablehlo.add %7, %11 : tensor<8xf32>
// CHECK-NEXT:     %13 = stablehlo.add %8, %12 : tensor<8xf32>
// CHECK-NEXT:     %14 = stablehlo.add %8, %13 : tensor<8xf32>
// CHECK-NEXT:     %15 = sdy.named_computation<"inner">(%5) (%arg1: tensor<8xf32>) {
// CHECK-NEXT:       %17 = stablehlo.negate %arg1 : tensor<8xf32>
// CHECK-NEXT:       sdy.return %17 : tensor<8xf32>
// CHECK-NEXT:     } : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:     %16 = stablehlo.add %15, %14 : tensor<8xf32>
// CHECK-NEXT:     return %16 : tensor<8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @constant_function() -> tensor<8xf32> {
// CHECK-NEXT:     %0 = sdy.constant dense<1.000000e+00> : tensor<8xf32>
// CHECK-NEXT:     %1 = stablehlo.add %0, %0 : tensor<8xf32>
// CHECK-NEXT:     return %1 : tensor<8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @preserving_function(%arg0: tensor<8xf32>) -> tensor<8xf32> {
// CHECK-NEXT:     %0 = stablehlo.negate %arg0 : tensor<8xf32>
// CHECK-NEXT:     return %0 : tensor<8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @varying_function(%arg0: tensor<8xf32>) -> tensor<8xf32> {
// CHECK-NEXT:     %0 = stablehlo.reverse %arg0, dims = [0] : tensor<8xf32>
// CHECK-NEXT:     return %0 : tensor<8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @constant_function_0() -> tensor<8xf32> attributes {sdy.original_func_name = "constant_function"} {
// CHECK-NEXT:     %0 = sdy.constant dense<1.000000e+00> : tensor<8xf32>
// CHECK-NEXT:     %1 = stablehlo.add %0, %0 : tensor<8xf32>
// CHECK-NEXT:     return %1 : tensor<8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @constant_function_1() -> tensor<8xf32> attributes {sdy.original_func_name = "constant_function"} {
// CHECK-NEXT:     %0 = sdy.constant dense<1.000000e+00> : tensor<8xf32>
// CHECK-NEXT:     %1 = stablehlo.add %0, %0 : tensor<8xf32>
// CHECK-NEXT:     return %1 : tensor<8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @preserving_function_2(%arg0: tensor<8xf32>) -> tensor<8xf32> attributes {sdy.original_func_name = "preserving_function"} {
// CHECK-NEXT:     %0 = stablehlo.negate %arg0 : tensor<8xf32>
// CHECK-NEXT:     return %0 : tensor<8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @preserving_function_3(%arg0: tensor<8xf32>) -> tensor<8xf32> attributes {sdy.original_func_name = "preserving_function"} {
// CHECK-NEXT:     %0 = stablehlo.negate %arg0 : tensor<8xf32>
// CHECK-NEXT:     return %0 : tensor<8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT: }
