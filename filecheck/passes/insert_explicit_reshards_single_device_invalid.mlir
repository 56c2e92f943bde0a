// RUN: sdy-opt %s --split-input-file --verify-diagnostics --sdy-insert-explicit-reshards='enable-full-version=true'

sdy.mesh @maximal = <[], device_ids=[0]>

// expected-error @+1 {{'func.func' op function argument 0 cannot have a single-device (maximal) sharding attribute}}
func.func @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@maximal, []>}) -> tensor<8xf32> {
  return %arg0 : tensor<8xf32>
}

// -----

sdy.mesh @maximal = <[], device_ids=[0]>

// expected-error @+1 {{'func.func' op function result 0 cannot have a single-device (maximal) sharding attribute}}
func.func @main(%arg0: tensor<8xf32>) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@maximal, []>}) {
  return %arg0 : tensor<8xf32>
}
