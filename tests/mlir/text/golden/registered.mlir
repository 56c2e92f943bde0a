"foo.x"() : () -> ()
// ==>
ERR loc("-":1:8): operation being parsed with an unregistered dialect. If this is intended, please use -allow-unregistered-dialect with the MLIR tool used
// -----
func.foo
// ==>
ERR loc("-":1:1): custom op 'func.foo' is unknown
// -----
func.func @f() { foo %a }
// ==>
ERR loc("-":1:18): custom op 'foo' is unknown (tried 'func.foo' as well)
// -----
module attributes {a.b = #foo.x} {}
// ==>
ERR loc("-":1:31): #"foo"<"x"> : 'none' attribute created with unregistered dialect. If this is intended, please call allowUnregisteredDialects() on the MLIRContext, or use -allow-unregistered-dialect with the MLIR opt tool used
// -----
module attributes {a.b = !foo.x} {}
// ==>
ERR loc("-":1:31): `!"foo"<"x">` type created with unregistered dialect. If this is intended, please call allowUnregisteredDialects() on the MLIRContext, or use -allow-unregistered-dialect with the MLIR opt tool used
// -----
module attributes {a.b = #foo.x<1, "2">} {}
// ==>
ERR loc("-":1:31): #"foo"<"x<1, "2">"> : 'none' attribute created with unregistered dialect. If this is intended, please call allowUnregisteredDialects() on the MLIRContext, or use -allow-unregistered-dialect with the MLIR opt tool used
// -----
module attributes {a.b = !foo<"x">} {}
// ==>
ERR loc("-":1:26): `!"foo"<""x"">` type created with unregistered dialect. If this is intended, please call allowUnregisteredDialects() on the MLIRContext, or use -allow-unregistered-dialect with the MLIR opt tool used
// -----
module attributes {a.b = !foo<1>} {}
// ==>
ERR loc("-":1:26): `!"foo"<"1">` type created with unregistered dialect. If this is intended, please call allowUnregisteredDialects() on the MLIRContext, or use -allow-unregistered-dialect with the MLIR opt tool used
// -----
func.func private @f(!foo.x)
// ==>
ERR loc("-":1:27): `!"foo"<"x">` type created with unregistered dialect. If this is intended, please call allowUnregisteredDialects() on the MLIRContext, or use -allow-unregistered-dialect with the MLIR opt tool used
// -----
module attributes {a.b = #sdy.foo<1>} {}
// ==>
ERR loc("-":1:31): unknown attribute `foo` in dialect `sdy`
// -----
module attributes {a.b = #stablehlo<foo 1>} {}
// ==>
ERR loc("-":1:37): unknown StableHLO attribute
// -----
module attributes {a.b = !stablehlo.foo} {}
// ==>
ERR loc("-":1:37): unknown stablehlo type: foo
// -----
func.func @f(%a: i32, %b: i32) { "func.call"(%a, %b) {callee = @g} : (i32) -> () return }
// ==>
ERR loc("-":1:70): expected 2 operand types but had 1
// -----
func.func @f(%a: i32, %b: i32) { "func.call"(%a, %b, %a) {callee = @g} : (i32) -> () return }
// ==>
ERR loc("-":1:74): expected 3 operand types but had 1
// -----
func.func @f(%a: i32, %b: i32) { "func.call"() {callee = @g} : (i32) -> () return }
// ==>
ERR loc("-":1:64): expected 0 operand types but had 1
// -----
func.func @f(%a: i32, %b: i32) { call @g(%a, %b) : (i32) -> () return }
// ==>
ERR loc("-":1:42): custom op 'func.call' number of operands and types do not match: got 2 operands and 1 types
// -----
func.func @f(%a: i32, %b: i32) { call @g(%a) : (i32, i32) -> () return }
// ==>
ERR loc("-":1:42): custom op 'func.call' number of operands and types do not match: got 1 operands and 2 types
// -----
func.func @f(%a: i32, %b: i32) { call @g(%a) : i32 return }
// ==>
ERR loc("-":1:48): custom op 'func.call' invalid kind of type specified: expected builtin.function, but found 'i32'
// -----
func.func @f(%a: i32, %b: i32) { call g(%a) : i32 return }
// ==>
ERR loc("-":1:38): expected attribute value
// -----
func.func @f(%a: i32, %b: i32) { call @g %a : i32 return }
// ==>
ERR loc("-":1:41): expected '('
// -----
func.func @f(%a: i32, %b: i32) { call @g(%a : i32 return }
// ==>
ERR loc("-":1:44): expected ')'
// -----
func.func @f(%a: i32, %b: i32) { call @g(5) : i32 return }
// ==>
ERR loc("-":1:42): expected ')'
// -----
func.func @f(%a: i32, %b: i32) -> f32 { return %a, %b : i32 }
// ==>
ERR loc("-":1:48): custom op 'func.return' number of operands and types do not match: got 2 operands and 1 types
// -----
func.func @f(%a: i32) { %0 = stablehlo.add %a, %a : f32 return }
// ==>
ERR loc("-":1:44): use of value '%a' expects different type than prior uses: 'f32' vs 'i32' [note: loc("-":1:14): prior use here]
// -----
func.func @f(%a: tensor<i32>) { %0 = stablehlo.add %a %a : tensor<f32> return }
// ==>
ERR loc("-":1:54): expected ','
// -----
func.func @f(%a: tensor<i32>) { %0 = stablehlo.add %a, %b : tensor<i32> return }
// ==>
ERR loc("-":1:56): use of undeclared SSA value name
// -----
func.func @f(%a: tensor<i32>) { %0 = stablehlo.add %a, : tensor<i32> return }
// ==>
ERR loc("-":1:55): expected SSA operand
// -----
func.func @f(%a: tensor<i32>) { %0 = stablehlo.add %a, %a tensor<i32> return }
// ==>
ERR loc("-":1:58): expected ':'
// -----
func.func @f(%a: tensor<i32>) { %0 = stablehlo.add %a, %a : return }
// ==>
ERR loc("-":1:60): expected non-function type
// -----
func.func @f(%a: tensor<i32>) { %0 = stablehlo.add %a, %a {a.b : tensor<i32> return }
// ==>
ERR loc("-":1:63): expected '}' in attribute dictionary
// -----
func.func @f(%a: tensor<i32>) { %0 = stablehlo.foo %a, %a {a.b : tensor<i32> return }
// ==>
ERR loc("-":1:38): custom op 'stablehlo.foo' is unknown
// -----
sdy.mesh @m = <["a"=2]> {a.b = 1}
// ==>
module {
  sdy.mesh @m = <["a"=2]> {a.b = 1 : i64}
}
// -----
sdy.mesh m = <["a"=2]> {a.b = 1}
// ==>
ERR loc("-":1:10): custom op 'sdy.mesh' expected valid '@'-identifier for symbol name
// -----
sdy.mesh @m <["a"=2]> {a.b = 1}
// ==>
ERR loc("-":1:12): expected '='
// -----
sdy.mesh @m = <["a"=2> {a.b = 1}
// ==>
ERR loc("-":1:22): expected ']'
// -----
func.func @f(%a: tensor<8xi32> {sdy.sharding = #sdy.sharding<@m, [{"a"}]>}) { return }
sdy.mesh @m = <["a"=2]>
// ==>
module {
  func.func @f(%arg0: tensor<8xi32> {sdy.sharding = #sdy.sharding<@m, [{"a"}]>}) {
    return
  }
  sdy.mesh @m = <["a"=2]>
}
// -----
func.func @f(%a: tensor<8xi32>) { sdy.sharding_group %a group_id=x : tensor<8xi32> return }
// ==>
ERR loc("-":1:66): expected attribute value
// -----
func.func @f(%a: tensor<8xi32>) { sdy.sharding_group %a group=1 : tensor<8xi32> return }
// ==>
ERR loc("-":1:57): custom op 'sdy.sharding_group' expected 'group_id'
// -----
func.func @f(%a: i32) attributes {b.c = 1, b.c = 2} { return }
// ==>
ERR loc("-":1:44): duplicate key 'b.c' in dictionary attribute
