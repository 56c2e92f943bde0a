// The dialect interpreter. The text below is what it prints as.
//
// RUN: grep -v '^//' %s > %t.expected
// RUN: sdy-opt %s | diff %t.expected -
// RUN: sdy-opt %s --mlir-print-op-generic | sdy-opt - | diff %t.expected -
module {
  func.func @send(%arg0: tensor<2xi32>, %arg1: !stablehlo.token) -> !stablehlo.token {
    return %arg1 : !stablehlo.token
  }
  func.func @queue() -> tensor<2xi32> {
    %c = stablehlo.constant dense<1> : tensor<2xi32>
    return %c : tensor<2xi32>
  }
  func.func @main(%arg0: tensor<2xi32>, %arg1: !stablehlo.token) {
    interpreter.print %arg0 : tensor<2xi32>
    interpreter.print %arg0 {note = 1 : i64} : tensor<2xi32>
    %0 = interpreter.probe %arg0, probe_id = "a/b" : tensor<2xi32>
    %1 = interpreter.probe %0, probe_id = "a,b" {note = 1 : i64} : tensor<2xi32>
    %2:2 = "interpreter.run_parallel"(%0, %arg1, %1, %arg1) <{infeed = [@queue], programs = [[@send], [@send]]}> : (tensor<2xi32>, !stablehlo.token, tensor<2xi32>, !stablehlo.token) -> (!stablehlo.token, !stablehlo.token)
    %3 = "interpreter.run_parallel"() <{programs = [[@queue]]}> : () -> tensor<2xi32>
    return
  }
}
