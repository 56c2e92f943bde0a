// RUN: sdy-opt %s --split-input-file --sdy-apply-sharding-constraints | filecheck %s

// A closed constraint that nothing contradicts gives its input its sharding.

sdy.mesh @mesh = <["x"=2, "y"=2]>

func.func @inputs(%arg0: tensor<8x8xf32>, %arg1: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}]>}, %arg2: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) {
  %0 = sdy.sharding_constraint %arg0 <@mesh, [{"x"}, {}]> : tensor<8x8xf32>
  %1 = sdy.sharding_constraint %arg1 <@mesh, [{"x"}, {}]> : tensor<8x8xf32>
  %2 = stablehlo.add %arg2, %arg2 : tensor<8x8xf32>
  %open = sdy.sharding_constraint %2 <@mesh, [{"x", ?}, {}]> : tensor<8x8xf32>
  %3 = stablehlo.negate %2 : tensor<8x8xf32>
  %contradicted = sdy.sharding_constraint %3 <@mesh, [{"x"}, {}]> : tensor<8x8xf32>
  %contradicting = sdy.sharding_constraint %3 <@mesh, [{"y"}, {}]> : tensor<8x8xf32>
  %4:2 = stablehlo.custom_call @two(%2) : (tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>)
  %second = sdy.sharding_constraint %4#1 <@mesh, [{"x"}, {"y"}]> : tensor<8x8xf32>
  return %0, %1, %open, %contradicted, %second : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
}

// -----

sdy.mesh @mesh = <["x"=2, "y"=2]>

func.func @chain(%arg0: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) {
  %0 = stablehlo.negate %arg0 : tensor<8x8xf32>
  %before = stablehlo.abs %0 : tensor<8x8xf32>
  %1 = sdy.sharding_constraint %0 <@mesh, [{"x"}, {}]> : tensor<8x8xf32>
  %2 = sdy.sharding_constraint %1 <@mesh, [{"x"}, {"y"}]> : tensor<8x8xf32>
  %3 = sdy.sharding_constraint %2 <@mesh, [{}, {"y"}]> : tensor<8x8xf32>
  %behind = stablehlo.add %0, %0 : tensor<8x8xf32>
  %4 = stablehlo.multiply %behind, %before : tensor<8x8xf32>
  return %0, %3, %4 : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
}

// -----

sdy.mesh @mesh = <["x"=2, "y"=2]>

func.func @edges(%arg0: tensor<i32>, %arg1: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %0:2 = stablehlo.while(%i = %arg0, %x = %arg1) : tensor<i32>, tensor<8x8xf32>
    cond {
      %5 = stablehlo.compare LT, %i, %arg0 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %5 : tensor<i1>
    } do {
      %5 = stablehlo.add %x, %x : tensor<8x8xf32>
      %6 = sdy.sharding_constraint %x <@mesh, [{"x"}, {}]> : tensor<8x8xf32>
      %7 = stablehlo.multiply %5, %6 : tensor<8x8xf32>
      stablehlo.return %i, %7 : tensor<i32>, tensor<8x8xf32>
    }
  %1 = sdy.data_flow_edge %0#0 : tensor<i32>
  %2 = sdy.data_flow_edge %0#1 : tensor<8x8xf32>
  %3 = stablehlo.negate %2 : tensor<8x8xf32>
  %4 = sdy.sharding_constraint %2 <@mesh, [{"x"}, {}], unreduced={"y"}> : tensor<8x8xf32>
  return %4, %3 : tensor<8x8xf32>, tensor<8x8xf32>
}

// -----

sdy.mesh @mesh = <["x"=2, "y"=2]>

func.func @manual_computations(%arg0: tensor<8x8xf32>, %arg1: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %0 = stablehlo.optimization_barrier %arg0 : tensor<8x8xf32>
  %1 = sdy.data_flow_edge %0 : tensor<8x8xf32>
  %2 = stablehlo.abs %1 : tensor<8x8xf32>
  %3 = sdy.manual_computation(%1, %arg1, %2) in_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, [{}, {"x"}]>, <@mesh, [{"x", ?}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%arg2: tensor<4x8xf32>, %arg3: tensor<8x4xf32>, %arg4: tensor<4x8xf32>) {
    %5 = stablehlo.add %arg2, %arg4 : tensor<4x8xf32>
    sdy.return %5 : tensor<4x8xf32>
  } : (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %4 = stablehlo.negate %1 : tensor<8x8xf32>
  return %3, %4 : tensor<8x8xf32>, tensor<8x8xf32>
}

// CHECK:      module {
// CHECK-NEXT:   sdy.mesh @mesh = <["x"=2, "y"=2]>
// CHECK-NEXT:   func.func @inputs(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %arg1: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}]>}, %arg2: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) {
// CHECK-NEXT:     %0 = sdy.sharding_constraint %arg0 <@mesh, [{"x"}, {}]> {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=8, j=8}>} : tensor<8x8xf32>
// CHECK-NEXT:     %1 = sdy.sharding_constraint %arg1 <@mesh, [{"x"}, {}]> : tensor<8x8xf32>
// CHECK-NEXT:     %2 = stablehlo.add %arg2, %arg2 : tensor<8x8xf32>
// CHECK-NEXT:     %3 = sdy.sharding_constraint %2 <@mesh, [{"x", ?}, {}]> : tensor<8x8xf32>
// CHECK-NEXT:     %4 = stablehlo.negate %2 : tensor<8x8xf32>
// CHECK-NEXT:     %5 = sdy.sharding_constraint %4 <@mesh, [{"x"}, {}]> : tensor<8x8xf32>
// CHECK-NEXT:     %6 = sdy.sharding_constraint %4 <@mesh, [{"y"}, {}]> : tensor<8x8xf32>
// CHECK-NEXT:     %7:2 = stablehlo.custom_call @two(%2) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {?}]>, <@mesh, [{"x"}, {"y"}]>]>} : (tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>)
// CHECK-NEXT:     %8 = sdy.sharding_constraint %7#1 <@mesh, [{"x"}, {"y"}]> {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=8, j=8}>} : tensor<8x8xf32>
// CHECK-NEXT:     return %0, %1, %3, %5, %8 : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT: }

// CHECK:      module {
// CHECK-NEXT:   sdy.mesh @mesh = <["x"=2, "y"=2]>
// CHECK-NEXT:   func.func @chain(%arg0: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) {
// CHECK-NEXT:     %0 = stablehlo.negate %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : tensor<8x8xf32>
// CHECK-NEXT:     %1 = stablehlo.abs %0 : tensor<8x8xf32>
// CHECK-NEXT:     %2 = sdy.sharding_constraint %0 <@mesh, [{"x"}, {}]> {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=8, j=8}>} : tensor<8x8xf32>
// CHECK-NEXT:     %3 = sdy.sharding_constraint %2 <@mesh, [{"x"}, {"y"}]> : tensor<8x8xf32>
// CHECK-NEXT:     %4 = sdy.sharding_constraint %3 <@mesh, [{}, {"y"}]> : tensor<8x8xf32>
// CHECK-NEXT:     %5 = stablehlo.add %4, %4 : tensor<8x8xf32>
// CHECK-NEXT:     %6 = stablehlo.multiply %5, %1 : tensor<8x8xf32>
// CHECK-NEXT:     return %0, %4, %6 : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT: }

// CHECK:      module {
// CHECK-NEXT:   sdy.mesh @mesh = <["x"=2, "y"=2]>
// CHECK-NEXT:   func.func @edges(%arg0: tensor<i32>, %arg1: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
// CHECK-NEXT:     %0:2 = stablehlo.while(%iterArg = %arg0, %iterArg_0 = %arg1) : tensor<i32>, tensor<8x8xf32>
// CHECK-NEXT:     cond {
// CHECK-NEXT:       %5 = stablehlo.compare LT, %iterArg, %arg0 : (tensor<i32>, tensor<i32>) -> tensor<i1>
// CHECK-NEXT:       stablehlo.return %5 : tensor<i1>
// CHECK-NEXT:     } do {
// CHECK-NEXT:       %5 = sdy.sharding_constraint %iterArg_0 <@mesh, [{"x"}, {}]> : tensor<8x8xf32>
// CHECK-NEXT:       %6 = stablehlo.add %5, %5 : tensor<8x8xf32>
// CHECK-NEXT:       %7 = stablehlo.multiply %6, %5 : tensor<8x8xf32>
// CHECK-NEXT:       stablehlo.return %iterArg, %7 : tensor<i32>, tensor<8x8xf32>
// CHECK-NEXT:     }
// CHECK-NEXT:     %1 = sdy.data_flow_edge %0#0 : tensor<i32>
// CHECK-NEXT:     %2 = sdy.data_flow_edge %0#1 sharding=<@mesh, [{?}, {?}], unreduced={"y"}> : tensor<8x8xf32>
// CHECK-NEXT:     %3 = sdy.sharding_constraint %2 <@mesh, [{"x"}, {}], unreduced={"y"}> : tensor<8x8xf32>
// CHECK-NEXT:     %4 = stablehlo.negate %3 : tensor<8x8xf32>
// CHECK-NEXT:     return %3, %4 : tensor<8x8xf32>, tensor<8x8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT: }

// CHECK:      module {
// CHECK-NEXT:   sdy.mesh @mesh = <["x"=2, "y"=2]>
// CHECK-NEXT:   func.func @manual_computations(%arg0: tensor<8x8xf32>, %arg1: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
// CHECK-NEXT:     %0 = stablehlo.optimization_barrier %arg0 : tensor<8x8xf32>
// CHECK-NEXT:     %1 = sdy.data_flow_edge %0 : tensor<8x8xf32>
// CHECK-NEXT:     %2 = sdy.sharding_constraint %1 <@mesh, [{"x"}, {}]> : tensor<8x8xf32>
// CHECK-NEXT:     %3 = stablehlo.abs %2 : tensor<8x8xf32>
// CHECK-NEXT:     %4 = sdy.manual_computation(%2, %arg1, %3) in_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, [{}, {"x"}]>, <@mesh, [{"x", ?}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%arg2: tensor<4x8xf32>, %arg3: tensor<8x4xf32>, %arg4: tensor<4x8xf32>) {
// CHECK-NEXT:       %6 = stablehlo.add %arg2, %arg4 : tensor<4x8xf32>
// CHECK-NEXT:       sdy.return %6 : tensor<4x8xf32>
// CHECK-NEXT:     } : (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
// CHECK-NEXT:     %5 = stablehlo.negate %2 : tensor<8x8xf32>
// CHECK-NEXT:     return %4, %5 : tensor<8x8xf32>, tensor<8x8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT: }
