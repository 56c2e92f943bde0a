// RUN: sdy-opt %s --sdy-import-func-calls | filecheck %s
// RUN: sdy-opt %s --sdy-propagation-pipeline | filecheck %s --check-prefix=PIPELINE

// What a function does that is only declared is not known: its call stays.

// CHECK: func.func private @declared
// CHECK: func.func @main
// CHECK: call @declared(%arg0)
// CHECK: sdy.named_computation<"defined">
// CHECK-NOT: func.func private @defined

// PIPELINE: func.func private @declared
// PIPELINE: [[RESHARD:%.+]] = sdy.reshard %arg0 <@mesh, [{}]>
// PIPELINE: call @declared([[RESHARD]])
// PIPELINE: call @defined

sdy.mesh @mesh = <["x"=2]>

func.func private @declared(tensor<8xf32>) -> tensor<8xf32>

func.func @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32> {
  %0 = call @declared(%arg0) : (tensor<8xf32>) -> tensor<8xf32>
  %1 = call @defined(%0) : (tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}

func.func private @defined(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  %0 = stablehlo.tanh %arg0 : tensor<8xf32>
  return %0 : tensor<8xf32>
}
