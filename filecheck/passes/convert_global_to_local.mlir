// RUN: sdy-opt %s --sdy-convert-global-to-local | filecheck %s --check-prefixes=CHECK,TABLE
// RUN: sdy-opt %s --sdy-convert-global-to-local=device-id-arithmetic=true | filecheck %s --check-prefixes=CHECK,ARITH

sdy.mesh @mesh = <["x"=2, "y"=4]>
sdy.mesh @reversed = <["x"=2, "y"=4], device_ids=[7, 6, 5, 4, 3, 2, 1, 0]>

// Types of regions, loops and calls follow the shardings.
// CHECK-LABEL: func.func @loop(
// CHECK-SAME:    tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>})
// CHECK:         stablehlo.while(%{{.*}} = %{{.*}}) : tensor<4xf32>
// CHECK:         call @callee(%{{.*}}) : (tensor<4xf32>) -> tensor<4xf32>
func.func @loop(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %arg1: tensor<i1>)
    -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
  %0 = stablehlo.while(%a = %arg0) : tensor<8xf32>
    attributes {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} cond {
    stablehlo.return %arg1 : tensor<i1>
  } do {
    %2 = stablehlo.tanh %a {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} : tensor<8xf32>
    stablehlo.return %2 : tensor<8xf32>
  }
  %1 = func.call @callee(%0) : (tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}

// CHECK-LABEL: func.func private @callee(
// CHECK-SAME:    tensor<4xf32>
func.func private @callee(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>})
    -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
  return %arg0 : tensor<8xf32>
}

// Positions by a table, or by the digits of the id of the device, also on reversed meshes.
// CHECK-LABEL: func.func @position(
// TABLE:         stablehlo.constant dense<[6, 4, 2, 0, 6, 4, 2, 0]> : tensor<8xi32>
// ARITH-NOT:     tensor<8xi{{32|64}}>
// ARITH:         %[[ID:.*]] = stablehlo.convert
// ARITH:         %[[DIGIT:.*]] = stablehlo.remainder %[[ID]], %{{.*}}
// ARITH:         stablehlo.subtract %{{.*}}, %[[DIGIT]]
// CHECK:         stablehlo.dynamic_slice %arg0, %{{.*}}, sizes = [2]
func.func @position(%arg0: tensor<8xf32>)
    -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@reversed, [{"y"}]>}) {
  %0 = sdy.all_slice [{"y"}] %arg0 out_sharding=<@reversed, [{"y"}]> : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// Collectives without axes, and changes to the same sharding, are erased.
// CHECK-LABEL: func.func @nothing(
// CHECK-NEXT:    return %arg0 : tensor<4xf32>
func.func @nothing(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>})
    -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
  %0 = sdy.all_gather [{}] %arg0 out_sharding=<@mesh, [{"x"}]> : tensor<8xf32>
  %1 = sdy.reshard %0 <@mesh, [{"x"}]> : tensor<8xf32>
  %2 = sdy.collective_permute %1 out_sharding=<@mesh, [{"x"}]> : tensor<8xf32>
  return %2 : tensor<8xf32>
}

// A sum of terms starts from its initial value once, and may have several users.
// CHECK-LABEL: func.func @initial_value(
// TABLE:         %[[FIRST:.*]] = stablehlo.reshape {{.*}} -> tensor<i1>
// ARITH:         %[[FIRST:.*]] = stablehlo.compare EQ
// CHECK:         %[[ZERO:.*]] = stablehlo.constant dense<0.000000e+00> : tensor<f32>
// CHECK:         %[[INIT:.*]] = stablehlo.select %[[FIRST]], %arg1, %[[ZERO]]
// CHECK:         stablehlo.reduce(%arg0 init: %[[INIT]])
func.func @initial_value(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %arg1: tensor<f32>)
    -> (tensor<f32>, tensor<f32>) {
  %0 = stablehlo.reduce(%arg0 init: %arg1) applies stablehlo.add across dimensions = [0] : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
  %1 = sdy.all_reduce {"x"} %0 out_sharding=<@mesh, []> : tensor<f32>
  return %1, %0 : tensor<f32>, tensor<f32>
}

// Terms of a scatter start from the smallest value of an unsigned type, and from infinity of floats.
// CHECK-LABEL: func.func @scatter_identities(
// CHECK:         stablehlo.constant dense<0> : tensor<ui8>
// CHECK:         "stablehlo.scatter"
// CHECK:         stablehlo.constant dense<0x7F800000> : tensor<f32>
// CHECK:         "stablehlo.scatter"
func.func @scatter_identities(%arg0: tensor<8xui8>, %arg1: tensor<8xf32>,
    %arg2: tensor<4x1xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
    %arg3: tensor<4xui8> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>},
    %arg4: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<8xui8>, tensor<8xf32>) {
  %0 = "stablehlo.scatter"(%arg0, %arg2, %arg3) ({
  ^bb0(%a: tensor<ui8>, %b: tensor<ui8>):
    %4 = stablehlo.maximum %a, %b : tensor<ui8>
    stablehlo.return %4 : tensor<ui8>
  }) {scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}
    : (tensor<8xui8>, tensor<4x1xi32>, tensor<4xui8>) -> tensor<8xui8>
  %1 = "stablehlo.scatter"(%arg1, %arg2, %arg4) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %4 = stablehlo.minimum %a, %b : tensor<f32>
    stablehlo.return %4 : tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}
    : (tensor<8xf32>, tensor<4x1xi32>, tensor<4xf32>) -> tensor<8xf32>
  %2 = sdy.all_reduce max {"x"} %0 out_sharding=<@mesh, [{}]> : tensor<8xui8>
  %3 = sdy.all_reduce min {"x"} %1 out_sharding=<@mesh, [{}]> : tensor<8xf32>
  return %2, %3 : tensor<8xui8>, tensor<8xf32>
}
