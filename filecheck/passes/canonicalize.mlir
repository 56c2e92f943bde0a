// RUN: sdy-opt %s --canonicalize | filecheck %s

// Dead ops go, constants rise and merge, a known case is its branch, reshards and collectives are joined.

sdy.mesh @mesh = <["x"=2, "y"=2]>
sdy.mesh @one = <["a"=1]>

func.func @folding(%arg0: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.negate %arg0 : tensor<4xf32>
  %1 = stablehlo.constant dense<1.0> : tensor<4xf32>
  %2 = stablehlo.constant dense<1> : tensor<i32>
  %3 = "stablehlo.case"(%2) ({
    stablehlo.return %1 : tensor<4xf32>
  }, {
    %5 = stablehlo.constant dense<2.0> : tensor<4xf32>
    %6 = stablehlo.add %arg0, %5 : tensor<4xf32>
    stablehlo.return %6 : tensor<4xf32>
  }) : (tensor<i32>) -> tensor<4xf32>
  %4 = stablehlo.constant dense<1.0> : tensor<4xf32>
  %5 = stablehlo.add %3, %4 : tensor<4xf32>
  %6 = stablehlo.custom_call @seen(%0) {has_side_effect = true} : (tensor<4xf32>) -> tensor<4xf32>
  %7 = stablehlo.custom_call @unseen(%0) : (tensor<4xf32>) -> tensor<4xf32>
  return %5 : tensor<4xf32>
}

func.func @reshards(%arg0: tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<32xf32>) {
  %0 = sdy.reshard %arg0 <@mesh, [{}, {"y"}]> : tensor<8x4xf32>
  %1 = sdy.reshard %0 <@mesh, [{"x"}, {}]> : tensor<8x4xf32>
  %2 = stablehlo.reshape %arg0 : (tensor<8x4xf32>) -> tensor<32xf32>
  %3 = sdy.reshard %2 <@mesh, [{"x"}]> : tensor<32xf32>
  return %1, %3 : tensor<8x4xf32>, tensor<32xf32>
}

func.func @collectives(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) -> (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) {
  %0 = sdy.all_reduce {"x"} %arg0 out_sharding=<@mesh, [{}, {}]> : tensor<8x8xf32>
  %1 = sdy.all_slice [{"x"}, {"y"}] %0 out_sharding=<@mesh, [{"x"}, {"y"}]> : tensor<8x8xf32>
  %2 = sdy.all_to_all [{"x"}: 0->1] %1 out_sharding=<@mesh, [{}, {"y", "x"}]> : tensor<8x8xf32>
  %3 = sdy.all_gather [{}, {}] %2 out_sharding=<@mesh, [{}, {"y", "x"}]> : tensor<8x8xf32>
  %4 = sdy.collective_permute %arg0 out_sharding=<@mesh, [{?}, {}]> : tensor<8x8xf32>
  return %3, %4, %1 : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
}

func.func @manual(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>) -> tensor<8xf32> {
  %0 = sdy.manual_computation(%arg0, %arg1) in_shardings=[<@one, [{"a"}]>, <@one, [{"a"}]>] out_shardings=[<@one, [{"a"}]>] manual_axes={"a"} (%arg2: tensor<8xf32>, %arg3: tensor<8xf32>) {
    %2 = stablehlo.abs %arg3 : tensor<8xf32>
    sdy.return %2 : tensor<8xf32>
  } : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %1 = sdy.manual_computation(%arg0, %0) in_shardings=[<@mesh, [{"x"}]>, <@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%arg2: tensor<4xf32>, %arg3: tensor<4xf32>) {
    sdy.return %arg3 : tensor<4xf32>
  } : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}

// CHECK:      module {
// CHECK-NEXT:   sdy.mesh @mesh = <["x"=2, "y"=2]>
// CHECK-NEXT:   sdy.mesh @one = <["a"=1]>
// CHECK-NEXT:   func.func @folding(%arg0: tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT:     %cst = stablehlo.constant dense<2.000000e+00> : tensor<4xf32>
// CHECK-NEXT:     %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<4xf32>
// CHECK-NEXT:     %0 = stablehlo.negate %arg0 : tensor<4xf32>
// CHECK-NEXT:     %1 = stablehlo.add %arg0, %cst : tensor<4xf32>
// CHECK-NEXT:     %2 = stablehlo.add %1, %cst_0 : tensor<4xf32>
// CHECK-NEXT:     %3 = stablehlo.custom_call @seen(%0) {has_side_effect = true} : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     return %2 : tensor<4xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @reshards(%arg0: tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<32xf32>) {
// CHECK-NEXT:     %0 = sdy.reshard %arg0 <@mesh, [{"x"}, {}]> : tensor<8x4xf32>
// CHECK-NEXT:     %1 = stablehlo.reshape %0 : (tensor<8x4xf32>) -> tensor<32xf32>
// CHECK-NEXT:     return %0, %1 : tensor<8x4xf32>, tensor<32xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @collectives(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) -> (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) {
// CHECK-NEXT:     %0 = sdy.reduce_scatter [{"x"}, {}] %arg0 out_sharding=<@mesh, [{"x"}, {}]> : tensor<8x8xf32>
// CHECK-NEXT:     %1 = sdy.all_slice [{}, {"y"}] %0 out_sharding=<@mesh, [{"x"}, {"y"}]> : tensor<8x8xf32>
// CHECK-NEXT:     %2 = sdy.all_to_all [{"x"}: 0->1] %1 out_sharding=<@mesh, [{}, {"y", "x"}]> : tensor<8x8xf32>
// CHECK-NEXT:     return %2, %arg0, %1 : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @manual(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>) -> tensor<8xf32> {
// CHECK-NEXT:     %0 = stablehlo.abs %arg1 : tensor<8xf32>
// CHECK-NEXT:     %1 = sdy.manual_computation(%0) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%arg2: tensor<4xf32>) {
// CHECK-NEXT:       sdy.return %arg2 : tensor<4xf32>
// CHECK-NEXT:     } : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:     return %1 : tensor<8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT: }
