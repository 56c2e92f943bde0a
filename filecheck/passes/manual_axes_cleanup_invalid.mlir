// RUN: sdy-opt %s --verify-diagnostics --sdy-manual-axes-cleanup

sdy.mesh @mesh = <["x"=2]>

func.func @main() {
  // expected-error @+1 {{op has manual_axes when there are no in/out shardings and the body is not empty. This isn't allowed at this stage, please contact the Shardy team or file a bug.}}
  sdy.manual_computation() in_shardings=[] out_shardings=[] manual_axes={"x"} () {
    %0 = stablehlo.constant dense<1.000000e+00> : tensor<8xf32>
    sdy.return
  } : () -> ()
  // expected-error @+1 {{op has manual_axes when there are no in/out shardings}}
  sdy.manual_computation() in_shardings=[] out_shardings=[] manual_axes={"x"} () {
    %0 = stablehlo.constant dense<2.000000e+00> : tensor<8xf32>
    sdy.return
  } : () -> ()
  return
}
