// RUN: sdy-opt %s --sdy-insert-explicit-reshards=enable-full-version=true | filecheck %s

// The full version leaves no conflict: elementwise, control flow, reductions, returned values.

sdy.mesh @mesh = <["x"=4, "y"=2]>

func.func @main(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %arg1: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}]>}, %arg2: tensor<i32>) -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}]>}, tensor<8xf32>) {
  %0 = stablehlo.add %arg0, %arg1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : tensor<8x8xf32>
  %1 = stablehlo.constant dense<0.0> : tensor<f32>
  %2 = stablehlo.reduce(%0 init: %1) applies stablehlo.add across dimensions = [0] : (tensor<8x8xf32>, tensor<f32>) -> tensor<8xf32>
  %3:2 = stablehlo.while(%i = %arg2, %a = %0) : tensor<i32>, tensor<8x8xf32> attributes {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>, <@mesh, [{"y"}, {}]>]>}
    cond {
      %5 = stablehlo.compare LT, %i, %arg2 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %5 : tensor<i1>
    } do {
      %5 = stablehlo.negate %a {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : tensor<8x8xf32>
      stablehlo.return %i, %5 : tensor<i32>, tensor<8x8xf32>
    }
  %4 = sdy.manual_computation(%3#1) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {"y"}]>] manual_axes={"x"} (%arg3: tensor<2x8xf32>) {
    %5 = stablehlo.abs %arg3 : tensor<2x8xf32>
    sdy.return %5 : tensor<2x8xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %4, %2 : tensor<8x8xf32>, tensor<8xf32>
}

// CHECK:      module {
// CHECK-NEXT:   sdy.mesh @mesh = <["x"=4, "y"=2]>
// CHECK-NEXT:   func.func @main(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %arg1: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}]>}, %arg2: tensor<i32>) -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}]>}, tensor<8xf32>) {
// CHECK-NEXT:     %0 = sdy.reshard %arg1 <@mesh, [{"x"}, {}]> : tensor<8x8xf32>
// CHECK-NEXT:     %1 = stablehlo.add %arg0, %0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : tensor<8x8xf32>
// CHECK-NEXT:     %2 = sdy.reshard %1 <@mesh, [{"y"}, {}]> : tensor<8x8xf32>
// CHECK-NEXT:     %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT:     %3 = stablehlo.reduce(%1 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<8x8xf32>, tensor<f32>) -> tensor<8xf32>
// CHECK-NEXT:     %4 = sdy.all_reduce {"x"} %3 out_sharding=<@mesh, [{}]> : tensor<8xf32>
// CHECK-NEXT:     %5:2 = stablehlo.while(%iterArg = %arg2, %iterArg_0 = %2) : tensor<i32>, tensor<8x8xf32> attributes {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>, <@mesh, [{"y"}, {}]>]>}
// CHECK-NEXT:     cond {
// CHECK-NEXT:       %9 = stablehlo.compare LT, %iterArg, %arg2 : (tensor<i32>, tensor<i32>) -> tensor<i1>
// CHECK-NEXT:       stablehlo.return %9 : tensor<i1>
// CHECK-NEXT:     } do {
// CHECK-NEXT:       %9 = sdy.reshard %iterArg_0 <@mesh, [{}, {"x"}]> : tensor<8x8xf32>
// CHECK-NEXT:       %10 = stablehlo.negate %9 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : tensor<8x8xf32>
// CHECK-NEXT:       %11 = sdy.reshard %10 <@mesh, [{"y"}, {}]> : tensor<8x8xf32>
// CHECK-NEXT:       stablehlo.return %iterArg, %11 : tensor<i32>, tensor<8x8xf32>
// CHECK-NEXT:     }
// CHECK-NEXT:     %6 = sdy.reshard %5#1 <@mesh, [{"x"}, {}]> : tensor<8x8xf32>
// CHECK-NEXT:     %7 = sdy.manual_computation(%6) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {"y"}]>] manual_axes={"x"} (%arg3: tensor<2x8xf32>) {
// CHECK-NEXT:       %9 = stablehlo.abs %arg3 : tensor<2x8xf32>
// CHECK-NEXT:       %10 = sdy.reshard %9 <@mesh, [{}, {"y"}]> : tensor<2x8xf32>
// CHECK-NEXT:       sdy.return %10 : tensor<2x8xf32>
// CHECK-NEXT:     } : (tensor<8x8xf32>) -> tensor<8x8xf32>
// CHECK-NEXT:     %8 = sdy.reshard %7 <@mesh, [{}, {"y"}]> : tensor<8x8xf32>
// CHECK-NEXT:     return %8, %4 : tensor<8x8xf32>, tensor<8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT: }
