// RUN: sdy-opt %s --sdy-propagation-pipeline --explain=%1 | filecheck %s
// RUN: sdy-opt %s --sdy-propagation-pipeline --explain=model.py:9 --explain=logits | filecheck %s --check-prefix=NAMES
// RUN: sdy-opt %s --sdy-propagation-pipeline --explain=x --json | filecheck %s --check-prefix=JSON
// RUN: sdy-opt %s --sdy-propagation-pipeline --why-not=w2,0,model | filecheck %s --check-prefix=WHYNOT
// RUN: not sdy-opt %s --sdy-propagation-pipeline --explain=missing 2>&1 | filecheck %s --check-prefix=MISSING
// RUN: not sdy-opt %s --sdy-propagation-pipeline --why-not=w2,0 2>&1 | filecheck %s --check-prefix=QUESTION
// RUN: not sdy-opt %s --sdy-propagation-pipeline --why-not=w2,0,time 2>&1 | filecheck %s --check-prefix=AXIS

// CHECK:      %1 = stablehlo.tanh : tensor<32x512xf32> [model.py:8:8 jit(f)/tanh]
// CHECK-NEXT: sharding <@mesh, {{.*}}"data"{{.*}}"model"
// CHECK-NEXT: dim 0 is sharded along data
// CHECK-NEXT: from the argument sharding of %arg0 (x) <@mesh, {{.*}}> [x]
// CHECK-NEXT: -> %0 = stablehlo.dot_general dim 0 (user priority 0, pass_through_factors, aggressive) [model.py:7:8 jit(f)/dot_general]
// CHECK-NEXT: i: dim 0 of operand 0 -> dim 0 of result 0 of <([i, k], [k, j])->([i, j]) {i=32, j=512, k=128} reduction={k}>
// CHECK-NEXT: -> %1 = stablehlo.tanh dim 0 (user priority 0, pass_through_factors, aggressive) [model.py:8:8 jit(f)/tanh]
// CHECK-NEXT: i: dim 0 of operand 0 -> dim 0 of result 0 of <([i, j])->([i, j]) {i=32, j=512}>
// CHECK-NEXT: dim 1 is sharded along model
// CHECK-NEXT: from the argument sharding of %arg1 (w1)

// NAMES: %2 = stablehlo.dot_general : tensor<32x10xf32> [model.py:9:8 jit(f)/dot_general]
// NAMES: result 0 (logits) : tensor<32x10xf32>
// NAMES: -> result 0 (logits) dim 0 as the returned value

// JSON:      {"jax": "0.12", "explanations": {"x": [{"place": {"name": "%arg0", "op": "func.func", "location": "x", "label": "x"}
// JSON-SAME: "axes": [{"dimension": 0, "axis": "data", "chains": [{"annotation": {"kind": "argument sharding"

// WHYNOT:      why is dimension 0 of %arg2 (w2) not sharded along model?
// WHYNOT-NEXT: closed: %1 = stablehlo.tanh is sharded along "model", but "model" does not propagate through %2 = stablehlo.dot_general: dimension 0 of %arg2 (w2) is closed
// WHYNOT-NEXT: along k: dim 1 of operand 0 -> dim 0 of operand 1
// WHYNOT-NEXT: to change that: open dimension 0 of %arg2 (w2)

// MISSING: --explain:1:1: error: unknown value 'missing'
// QUESTION: --why-not:1:1: error: expected VALUE,DIMENSION,AXIS such as '%3,0,x', got 'w2,0'
// AXIS: --why-not:1:6: error: unknown axis 'time': expected one of 'data', 'model'

sdy.mesh @mesh = <["data"=4, "model"=2]>
func.func public @main(
    %arg0: tensor<32x128xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>} loc("x"),
    %arg1: tensor<128x512xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}]>} loc("w1"),
    %arg2: tensor<512x10xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>} loc("w2"))
    -> (tensor<32x10xf32> {jax.result_info = "logits"}) {
  %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] : (tensor<32x128xf32>, tensor<128x512xf32>) -> tensor<32x512xf32> loc("jit(f)/dot_general"("model.py":7:8))
  %1 = stablehlo.tanh %0 : tensor<32x512xf32> loc("jit(f)/tanh"("model.py":8:8))
  %2 = stablehlo.dot_general %1, %arg2, contracting_dims = [1] x [0] : (tensor<32x512xf32>, tensor<512x10xf32>) -> tensor<32x10xf32> loc("jit(f)/dot_general"("model.py":9:8))
  return %2 : tensor<32x10xf32>
}
