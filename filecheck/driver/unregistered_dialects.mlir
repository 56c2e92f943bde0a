// With unregistered dialects allowed, ops of StableHLO's interpreter are unregistered, as in Shardy's sdy_opt: they
// stay in generic form, their attributes as they are written.
//
// RUN: sdy-opt %s --allow-unregistered-dialect --split-input-file --verify-diagnostics | filecheck %s
// RUN: sdy-opt %s --allow-unregistered-dialect --split-input-file --verify-diagnostics --sdy-convert-global-to-local | filecheck %s --check-prefix=LOCAL

sdy.mesh @mesh = <["x"=2]>

// CHECK-LABEL: func @main
// LOCAL-LABEL: func @main
func.func @main(%arg0: tensor<4xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
  // CHECK-NEXT: "interpreter.print"(%arg0) : (tensor<4xi32>) -> ()
  // CHECK-NEXT: %0 = "interpreter.probe"(%arg0) {probe_id = "a"} : (tensor<4xi32>) -> tensor<4xi32>
  // CHECK-NEXT: "check.expect_eq"(%arg0, %0) : (tensor<4xi32>, tensor<4xi32>) -> ()
  // LOCAL-NEXT: "interpreter.print"(%arg0) : (tensor<2xi32>) -> ()
  "interpreter.print"(%arg0) : (tensor<4xi32>) -> ()
  %0 = "interpreter.probe"(%arg0) {probe_id = "a"} : (tensor<4xi32>) -> tensor<4xi32>
  "check.expect_eq"(%arg0, %0) : (tensor<4xi32>, tensor<4xi32>) -> ()
  return
}

// -----

func.func @custom_form(%arg0: tensor<4xi32>) {
  // expected-error@+2 {{Dialect `interpreter' not found for custom op 'interpreter.print'}}
  // expected-note@+1 {{Available dialects: builtin, chlo, func, quant, sdy, stablehlo}}
  interpreter.print %arg0 : tensor<4xi32>
  return
}
