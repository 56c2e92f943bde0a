// RUN: sdy-opt %s --xla-sdy-round-trip-import-shardy-attrs | filecheck %s

// Meshes, arguments, results (one of them used otherwise too), a rule; what is not kept goes.

module attributes {mhlo.frontend_attributes = {other = "1", xla.sdy.meshes = "{mesh = #sdy.mesh<[\22x\22=4, \22y\22=2]>, one = #sdy.mesh<[], device_ids=[1]>}"}} {
  func.func @main(%arg0: tensor<8x8xf32> {mhlo.frontend_attributes = {xla.sdy.sharding = "#sdy.sharding<@mesh, [{\22x\22, ?}p1, {}]>"}, mhlo.sharding = "{devices=[4,1,2]<=[8] last_tile_dim_replicate}"}, %arg1: tensor<8x8xf32> {mhlo.frontend_attributes = {foo = "bar"}, mhlo.sharding = "{replicated}"}) -> (tensor<8x8xf32> {mhlo.sharding = "{replicated}"}, tensor<8x8xf32>) {
    %0 = stablehlo.add %arg0, %arg1 {mhlo.frontend_attributes = {xla.sdy.sharding = "#sdy.sharding_per_value<[<@mesh, [{}, {}]>]>", xla.sdy.sharding_rule = "#sdy.op_sharding_rule<([i, j],[i, j])->([i, j]) {i=8, j=8}>"}, mhlo.sharding = "{replicated}"} : tensor<8x8xf32>
    %1 = stablehlo.custom_call @Sharding(%0) {mhlo.frontend_attributes = {xla.sdy.sharding = "#sdy.sharding_per_value<[<@mesh, [{}, {\\\22y\\\22}]>]>"}, mhlo.sharding = "{devices=[1,2,4]<=[4,2]T(1,0) last_tile_dim_replicate}"} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %2 = stablehlo.custom_call @xla.sdy.FuncResultSharding(%1) {has_side_effect = true, mhlo.frontend_attributes = {xla.sdy.sharding = "#sdy.sharding_per_value<[<@mesh, [{\22x\22}, {}]>]>"}} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %3 = stablehlo.custom_call @xla.sdy.FuncResultSharding(%arg1) {has_side_effect = true, mhlo.frontend_attributes = {xla.sdy.sharding = "#sdy.sharding_per_value<[<@mesh, [{\22y\22}, {}]>]>"}} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %4 = stablehlo.custom_call @use(%3) {has_side_effect = true} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    return %2, %3 : tensor<8x8xf32>, tensor<8x8xf32>
  }
}

// CHECK:      module attributes {mhlo.frontend_attributes = {other = "1"}} {
// CHECK-NEXT:   sdy.mesh @mesh = <["x"=4, "y"=2]>
// CHECK-NEXT:   sdy.mesh @one = <[], device_ids=[1]>
// CHECK-NEXT:   func.func @main(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", ?}p1, {}]>}, %arg1: tensor<8x8xf32> {mhlo.frontend_attributes = {foo = "bar"}}) -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}]>}) {
// CHECK-NEXT:     %0 = stablehlo.add %arg0, %arg1 {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [i, j])->([i, j]) {i=8, j=8}>} : tensor<8x8xf32>
// CHECK-NEXT:     %1 = stablehlo.custom_call @Sharding(%0) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"y"}]>]>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
// CHECK-NEXT:     %2 = sdy.sharding_constraint %arg1 <@mesh, [{"y", ?}, {?}]> : tensor<8x8xf32>
// CHECK-NEXT:     %3 = stablehlo.custom_call @use(%2) {has_side_effect = true} : (tensor<8x8xf32>) -> tensor<8x8xf32>
// CHECK-NEXT:     return %1, %2 : tensor<8x8xf32>, tensor<8x8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT: }
