// RUN: sdy-opt %s --xla-sdy-stablehlo-export-shardings=add-missing-sharding-to-control-flow=true | filecheck %s

sdy.mesh @mesh = <["x"=8, "y"=4]>
sdy.mesh @order = <["a"=2, "b"=2], device_ids=[3, 1, 2, 0]>
sdy.mesh @one = <[], device_ids=[5]>
func.func @main(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x":(2)2}]>}, %arg1: tensor<8xf32> {sdy.sharding = #sdy.sharding<@order, [{"b"}]>}, %arg2: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {?}], unreduced={"x"}>}) -> (tensor<8x8xf32> {jax.result_info = "r", sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}, {}]>}) {
  %0 = stablehlo.add %arg0, %arg2 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y"}, {}]>]>, xla.sdy.manual_axes = #sdy<manual_axes{"x"}>} : tensor<8x8xf32>
  %1:2 = stablehlo.custom_call @two(%0) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y"}, {}]>, <@mesh, [{}, {}]>]>} : (tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>)
  %r = stablehlo.custom_call @rule(%1#0) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y"}, {}], unreduced=max{"x"}>]>, sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=8, j=8}, custom>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  stablehlo.custom_call @nothing(%1#1) {has_side_effect = true, sdy.sharding = #sdy.sharding_per_value<[<@one, []>]>} : (tensor<8x8xf32>) -> ()
  %2 = stablehlo.while(%iterArg = %1#0) : tensor<8x8xf32>
  cond {
    %3 = stablehlo.constant dense<false> : tensor<i1>
    stablehlo.return %3 : tensor<i1>
  } do {
    stablehlo.return %iterArg : tensor<8x8xf32>
  }
  %3 = stablehlo.constant dense<true> : tensor<i1>
  %4 = "stablehlo.if"(%3) ({
    stablehlo.return %2 : tensor<8x8xf32>
  }, {
    stablehlo.return %2 : tensor<8x8xf32>
  }) {xla.sdy.manual_axes = #sdy<manual_axes{"x"}>} : (tensor<i1>) -> tensor<8x8xf32>
  return %4 : tensor<8x8xf32>
}

// CHECK:      module {
// CHECK-NEXT:   func.func @main(%arg0: tensor<8x8xf32> {mhlo.sharding = "{devices=[4,2,4]<=[2,2,2,4]T(3,1,0,2) last_tile_dim_replicate}"}, %arg1: tensor<8xf32> {mhlo.sharding = "{devices=[2,2]2,3,0,1 last_tile_dim_replicate}"}, %arg2: tensor<8x8xf32> {mhlo.sharding = "{devices=[1,1,8,4]<=[32] last_tile_dims={unreduced, replicated}}"}) -> (tensor<8x8xf32> {jax.result_info = "r", mhlo.sharding = "{devices=[32,1]<=[32]}"}) {
// CHECK-NEXT:     %0 = stablehlo.add %arg0, %arg2 {mhlo.sharding = "{devices=[4,1,8]<=[8,4]T(1,0) last_tile_dims={manual}}"} : tensor<8x8xf32>
// CHECK-NEXT{LITERAL}:     %1:2 = stablehlo.custom_call @two(%0) {mhlo.sharding = "{{devices=[4,1,8]<=[8,4]T(1,0) last_tile_dim_replicate}, {replicated}}"} : (tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>)
// CHECK-NEXT:     %2 = stablehlo.custom_call @rule(%1#0) {mhlo.sharding = "{devices=[4,1,8]<=[8,4]T(1,0) last_tile_dims={unreduced} metadata={op_type=\22sdy::reduction_op\22 op_name=\22MAX\22}}"} : (tensor<8x8xf32>) -> tensor<8x8xf32>
// CHECK-NEXT:     stablehlo.custom_call @nothing(%1#1) {has_side_effect = true, mhlo.sharding = "{maximal device=5}"} : (tensor<8x8xf32>) -> ()
// CHECK-NEXT:     %3 = stablehlo.while(%iterArg = %1#0) : tensor<8x8xf32> attributes {mhlo.sharding = "{replicated}"}
// CHECK-NEXT:     cond {
// CHECK-NEXT:       %c_0 = stablehlo.constant dense<false> : tensor<i1>
// CHECK-NEXT:       stablehlo.return %c_0 : tensor<i1>
// CHECK-NEXT:     } do {
// CHECK-NEXT:       stablehlo.return %iterArg : tensor<8x8xf32>
// CHECK-NEXT:     }
// CHECK-NEXT:     %c = stablehlo.constant dense<true> : tensor<i1>
// CHECK-NEXT:     %4 = "stablehlo.if"(%c) ({
// CHECK-NEXT:       stablehlo.return %3 : tensor<8x8xf32>
// CHECK-NEXT:     }, {
// CHECK-NEXT:       stablehlo.return %3 : tensor<8x8xf32>
// CHECK-NEXT:     }) : (tensor<i1>) -> tensor<8x8xf32>
// CHECK-NEXT:     return %4 : tensor<8x8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT: }
