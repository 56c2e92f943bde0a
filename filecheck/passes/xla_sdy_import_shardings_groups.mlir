// RUN: sdy-opt %s --split-input-file --verify-diagnostics --xla-sdy-import-shardings | filecheck %s

// Arguments and results of functions join groups as results of ops do; `shard_like` is left out.

// expected-warning @+1 {{shard_like 2 is dropped: members of a group of sdy get one sharding}}
func.func @main(%arg0: tensor<8xf32> {mhlo.sharding = "{replicated shard_as 1}"}, %arg1: tensor<8xf32> {mhlo.sharding = "{replicated shard_like 2}"}) -> (tensor<8xf32> {mhlo.sharding = "{unknown shard_as 1}"}) {
  %0 = stablehlo.negate %arg0 : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// CHECK:      module {
// CHECK-NEXT:   sdy.mesh @mesh = <[]>
// CHECK-NEXT:   func.func @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}, %arg1: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}]>}) {
// CHECK-NEXT:     sdy.sharding_group %arg0 group_id=1 : tensor<8xf32>
// CHECK-NEXT:     %0 = stablehlo.negate %arg0 : tensor<8xf32>
// CHECK-NEXT:     sdy.sharding_group %0 group_id=1 : tensor<8xf32>
// CHECK-NEXT:     return %0 : tensor<8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT: }
