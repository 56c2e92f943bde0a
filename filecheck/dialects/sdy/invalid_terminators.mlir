// RUN: sdy-opt %s --split-input-file --verify-diagnostics

// Bodies that end with another terminator than the one that their op implies.

sdy.mesh @mesh = <["a"=2]>
func.func @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+2 {{'sdy.manual_computation' op expects regions to end with 'sdy.return', found 'stablehlo.return'}}
  // expected-note @+1 {{in custom textual format, the absence of terminator implies 'sdy.return'}}
  %0 = "sdy.manual_computation"(%arg0) <{in_shardings = #sdy.sharding_per_value<[<@mesh, [{"a"}]>]>, out_shardings = #sdy.sharding_per_value<[<@mesh, [{"a"}]>]>, manual_axes = #sdy<manual_axes{"a"}>}> ({
  ^bb0(%arg1: tensor<4xf32>):
    "stablehlo.return"(%arg1) : (tensor<4xf32>) -> ()
  }) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

func.func @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+2 {{'sdy.named_computation' op expects regions to end with 'sdy.return', found 'stablehlo.return'}}
  // expected-note @+1 {{in custom textual format, the absence of terminator implies 'sdy.return'}}
  %0 = "sdy.named_computation"(%arg0) <{name = "f"}> ({
  ^bb0(%arg1: tensor<8xf32>):
    "stablehlo.return"(%arg1) : (tensor<8xf32>) -> ()
  }) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
