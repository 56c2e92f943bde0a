// RUN: sdy-opt %s --sdy-manual-axes-cleanup | filecheck %s

// Manual axes stand in mesh order, and every sharding names all of them.

sdy.mesh @mesh = <["x"=2, "y"=2, "z"=4]>
sdy.mesh @empty = <[]>

func.func @main(%arg0: tensor<16x16xf32>, %arg1: tensor<16x16xf32>) -> (tensor<16x16xf32>, tensor<16xf32>) {
  %0 = sdy.manual_computation(%arg0, %arg1) in_shardings=[<@mesh, [{"y", "x"}, {}]>, <@mesh, [{"z":(1)2}, {}], replicated={"z":(2)2}>] out_shardings=[<@mesh, [{}, {"x"}], unreduced={"y"}>] manual_axes={"z", "y", "x"} (%arg2: tensor<4x16xf32>, %arg3: tensor<8x16xf32>) {
    %3 = stablehlo.slice %arg2 [0:4, 0:8] : (tensor<4x16xf32>) -> tensor<4x8xf32>
    %4 = stablehlo.concatenate %3, %3, %3, %3, dim = 0 : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<16x8xf32>
    sdy.return %4 : tensor<16x8xf32>
  } : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %1 = stablehlo.slice %arg1 [0:1, 0:16] : (tensor<16x16xf32>) -> tensor<1x16xf32>
  %2 = stablehlo.reshape %1 : (tensor<1x16xf32>) -> tensor<16xf32>
  %5 = sdy.manual_computation(%2) in_shardings=[<@mesh, [{?}]>] out_shardings=[<@empty, [{}]>] manual_axes={"x"} (%arg2: tensor<16xf32>) {
    sdy.return %arg2 : tensor<16xf32>
  } : (tensor<16xf32>) -> tensor<16xf32>
  sdy.manual_computation() in_shardings=[] out_shardings=[] manual_axes={"x"} () {
    sdy.return
  } : () -> ()
  return %0, %5 : tensor<16x16xf32>, tensor<16xf32>
}

// CHECK:      module {
// CHECK-NEXT:   sdy.mesh @mesh = <["x"=2, "y"=2, "z"=4]>
// CHECK-NEXT:   sdy.mesh @empty = <[]>
// CHECK-NEXT:   func.func @main(%arg0: tensor<16x16xf32>, %arg1: tensor<16x16xf32>) -> (tensor<16x16xf32>, tensor<16xf32>) {
// CHECK-NEXT:     %0 = sdy.manual_computation(%arg0, %arg1) in_shardings=[<@mesh, [{"y", "x"}, {}], replicated={"z"}>, <@mesh, [{"z":(1)2}, {}], replicated={"x", "y", "z":(2)2}>] out_shardings=[<@mesh, [{}, {"x"}], replicated={"z"}, unreduced={"y"}>] manual_axes={"x", "y", "z"} (%arg2: tensor<4x16xf32>, %arg3: tensor<8x16xf32>) {
// CHECK-NEXT:       %4 = stablehlo.slice %arg2 [0:4, 0:8] : (tensor<4x16xf32>) -> tensor<4x8xf32>
// CHECK-NEXT:       %5 = stablehlo.concatenate %4, %4, %4, %4, dim = 0 : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<16x8xf32>
// CHECK-NEXT:       sdy.return %5 : tensor<16x8xf32>
// CHECK-NEXT:     } : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
// CHECK-NEXT:     %1 = stablehlo.slice %arg1 [0:1, 0:16] : (tensor<16x16xf32>) -> tensor<1x16xf32>
// CHECK-NEXT:     %2 = stablehlo.reshape %1 : (tensor<1x16xf32>) -> tensor<16xf32>
// CHECK-NEXT:     %3 = sdy.manual_computation(%2) in_shardings=[<@mesh, [{?}], replicated={"x"}>] out_shardings=[<@mesh, [{}], replicated={"x"}>] manual_axes={"x"} (%arg2: tensor<16xf32>) {
// CHECK-NEXT:       sdy.return %arg2 : tensor<16xf32>
// CHECK-NEXT:     } : (tensor<16xf32>) -> tensor<16xf32>
// CHECK-NEXT:     sdy.manual_computation() in_shardings=[] out_shardings=[] manual_axes={"x"} () {
// CHECK-NEXT:       sdy.return
// CHECK-NEXT:     } : () -> ()
// CHECK-NEXT:     return %0, %3 : tensor<16x16xf32>, tensor<16xf32>
// CHECK-NEXT:   }
// CHECK-NEXT: }
