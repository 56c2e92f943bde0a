// RUN: sdy-opt %s --sdy-resolve-permutation-factors='enable-windowed-halo-exchange=true rng-bit-generator-unsafe=false' | filecheck %s
// RUN: sdy-opt %s --sdy-resolve-permutation-factors=rng-bit-generator-unsafe=true | filecheck %s --check-prefix UNSAFE

sdy.mesh @mesh = <["x"=2, "y"=2]>

// 12 counters on each device, from 12 times its position on.
// CHECK-LABEL: @range
// UNSAFE-LABEL: @range
func.func @range(%arg0: tensor<2xui64>) -> (tensor<2xui64>, tensor<8x6xui32>) {
  // CHECK: %[[BITS:.*]] = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%arg1: tensor<2xui64>)
  // CHECK: %[[FIRST:.*]] = stablehlo.multiply {{.*}} : tensor<i64>
  // CHECK: %[[COUNT:.*]] = stablehlo.convert %[[FIRST]] : (tensor<i64>) -> tensor<ui64>
  // CHECK: %[[ONE:.*]] = stablehlo.reshape %[[COUNT]] : (tensor<ui64>) -> tensor<1xui64>
  // CHECK: %[[STEP:.*]] = stablehlo.pad %[[ONE]], {{.*}} low = [1], high = [0]
  // CHECK: %[[STATE:.*]] = stablehlo.add %arg1, %[[STEP]]
  // CHECK: %{{.*}}, %[[WORDS:.*]] = stablehlo.rng_bit_generator %[[STATE]], algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<24xui32>)
  // CHECK: %[[PAIRS:.*]] = stablehlo.reshape %[[WORDS]] : (tensor<24xui32>) -> tensor<2x6x2xui32>
  // CHECK: stablehlo.transpose %[[PAIRS]], dims = [0, 2, 1]
  // CHECK: sdy.return
  // CHECK: dense<24> : tensor<ui64>
  // CHECK: %[[NEW:.*]] = stablehlo.add %arg0, {{.*}} : tensor<2xui64>
  // CHECK: return %[[NEW]], %[[BITS]]
  // UNSAFE-NEXT: stablehlo.rng_bit_generator %arg0, {{.*}} -> (tensor<2xui64>, tensor<8x6xui32>)
  %0, %1 = stablehlo.rng_bit_generator %arg0, algorithm = THREE_FRY {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>, <@mesh, [{"x"}, {}]>]>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<8x6xui32>)
  return %0, %1 : tensor<2xui64>, tensor<8x6xui32>
}

// Four rows of 2 counters, which do not follow each other: encrypted here, 10 rounds of two multiplications.
// CHECK-LABEL: @grid
func.func @grid(%arg0: tensor<3xui64>) -> (tensor<3xui64>, tensor<4x16xui8>) {
  // CHECK: sdy.manual_computation(%arg0)
  // CHECK: stablehlo.iota dim = 0 : tensor<4x2xi64>
  // CHECK: stablehlo.iota dim = 1 : tensor<4x2xi64>
  // CHECK-COUNT-20: stablehlo.shift_right_logical
  // CHECK-NOT: rng_bit_generator
  // CHECK: stablehlo.concatenate {{.*}} dim = 2 : (tensor<4x2x1xui8>, {{.*}} -> tensor<4x2x4xui8>
  // CHECK: stablehlo.reshape {{.*}} -> tensor<4x8xui8>
  // CHECK: sdy.return
  %0, %1 = stablehlo.rng_bit_generator %arg0, algorithm = PHILOX {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>, <@mesh, [{}, {"y"}]>]>} : (tensor<3xui64>) -> (tensor<3xui64>, tensor<4x16xui8>)
  return %0, %1 : tensor<3xui64>, tensor<4x16xui8>
}
