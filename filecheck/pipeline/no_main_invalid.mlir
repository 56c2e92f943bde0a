// RUN: sdy-opt %s --sdy-propagation-pipeline --verify-diagnostics

// Where a program starts must be clear: results of its main function are matched with what it returns.

sdy.mesh @mesh = <["x"=2, "y"=2]>
// expected-error @+1 {{'builtin.module' op needs one function, or one named @main; it has: @f, @g}}
func.func @f(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<8x8xf32> {
  %0 = stablehlo.negate %arg0 : tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
func.func @g(%arg0: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = stablehlo.abs %arg0 : tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
