"foo.a"(%x) : (i32) -> ()
// ==>
ERR loc("-":1:9): use of undeclared SSA value name
// -----
%0 = "foo.a"() : () -> i32
%0 = "foo.a"() : () -> i32
// ==>
ERR loc("-":2:1): redefinition of SSA value '%0' [note: loc("-":1:1): previously defined here]
// -----
%0 = "foo.a"() : () -> ()
// ==>
ERR loc("-":1:1): cannot name an operation with no results
// -----
%0, %1 = "foo.a"() : () -> i32
// ==>
ERR loc("-":1:1): operation defines 1 results but was provided 2 to bind
// -----
%0:2 = "foo.a"() : () -> i32
// ==>
ERR loc("-":1:1): operation defines 1 results but was provided 2 to bind
// -----
%0 = "foo.a"() : () -> (i32, i32)
// ==>
ERR loc("-":1:1): operation defines 2 results but was provided 1 to bind
// -----
%a:2 = "foo.a"() : () -> (i32, i32)
"foo.b"(%a#0, %a#1, %a) : (i32, i32, i32) -> ()
// ==>
module {
  %0:2 = "foo.a"() : () -> (i32, i32)
  "foo.b"(%0#0, %0#1, %0#0) : (i32, i32, i32) -> ()
}
// -----
%a:2 = "foo.a"() : () -> (i32, i32)
"foo.b"(%a#2) : (i32) -> ()
// ==>
ERR loc("-":2:9): reference to invalid result number
// -----
%a = "foo.a"() : () -> (i32, i32)
"foo.b"(%a#1) : (i32) -> ()
// ==>
ERR loc("-":1:1): operation defines 2 results but was provided 1 to bind
// -----
%a, %b:2, %c = "foo.a"() : () -> (i32, i32, i32, i32)
"foo.b"(%a, %b#1, %c) : (i32, i32, i32) -> ()
// ==>
module {
  %0:4 = "foo.a"() : () -> (i32, i32, i32, i32)
  "foo.b"(%0#0, %0#2, %0#3) : (i32, i32, i32) -> ()
}
// -----
%a, %b:2 = "foo.a"() : () -> (i32, i32, i32)
"foo.b"(%a#0, %b#0, %b) : (i32, i32, i32) -> ()
// ==>
module {
  %0:3 = "foo.a"() : () -> (i32, i32, i32)
  "foo.b"(%0#0, %0#1, %0#1) : (i32, i32, i32) -> ()
}
// -----
%a:0 = "foo.a"() : () -> (i32, i32)
// ==>
ERR loc("-":1:4): expected named operation to have at least 1 result
// -----
%a: = "foo.a"() : () -> (i32, i32)
// ==>
ERR loc("-":1:4): expected integer number of results
// -----
%a "foo.a"() : () -> (i32)
// ==>
ERR loc("-":1:3): expected '=' after SSA name
// -----
%a, = "foo.a"() : () -> (i32)
// ==>
ERR loc("-":1:4): expected valid ssa identifier
// -----
%a#0 = "foo.a"() : () -> (i32)
// ==>
ERR loc("-":1:3): expected '=' after SSA name
// -----
"foo.a"
// ==>
ERR loc("-":1:8): expected '(' to start operand list
// -----
"foo.a"(
// ==>
ERR loc("-":1:9): expected ')' to end operand list
// -----
"foo.a"(%a
// ==>
ERR loc("-":1:11): expected ')' to end operand list
// -----
"foo.a"(a)
// ==>
ERR loc("-":1:9): expected ')' to end operand list
// -----
"foo.a"()
// ==>
ERR loc("-":1:10): expected ':' followed by operation type
// -----
"foo.a"() :
// ==>
ERR loc("-":1:12): expected non-function type
// -----
"foo.a"() : i32
// ==>
ERR loc("-":1:13): expected function type
// -----
"foo.a"() : () ->
// ==>
ERR loc("-":1:18): expected non-function type
// -----
"foo.a"() : (i32) -> ()
// ==>
ERR loc("-":1:13): expected 0 operand types but had 1
// -----
%0 = "foo.a"() : () -> i32
"foo.b"(%0) : (f32) -> ()
// ==>
ERR loc("-":2:9): use of value '%0' expects different type than prior uses: 'f32' vs 'i32' [note: loc("-":1:1): prior use here]
// -----
"foo.b"(%0) : (f32) -> ()
%0 = "foo.a"() : () -> i32
// ==>
ERR loc("-":2:1): definition of SSA value '%0#0' has type 'i32' [note: loc("-":1:9): previously used here with type 'f32']
// -----
"foo.b"(%0) : (f32) -> ()
"foo.c"(%0) : (i32) -> ()
%0 = "foo.a"() : () -> i32
// ==>
ERR loc("-":2:9): use of value '%0' expects different type than prior uses: 'i32' vs 'f32' [note: loc("-":1:9): prior use here]
// -----
"foo.b"(%0, %1) : (f32, f32) -> ()
"foo.c"(%2) : (i32) -> ()
// ==>
ERR loc("-":1:9): use of undeclared SSA value name | loc("-":1:13): use of undeclared SSA value name | loc("-":2:9): use of undeclared SSA value name
// -----
""() : () -> ()
// ==>
ERR loc("-":1:1): empty operation name is invalid
// -----
"foo"() : () -> ()
// ==>
module {
  "foo"() : () -> ()
}
// -----
foo
// ==>
ERR loc("-":1:1): custom op 'foo' is unknown (tried 'builtin.foo' as well)
// -----
12
// ==>
ERR loc("-":1:1): expected operation name in quotes
// -----
}
// ==>
ERR loc("-":1:1): expected operation name in quotes
// -----
module {
// ==>
ERR loc("-":1:9): expected operation name in quotes
// -----
module {
}
}
// ==>
ERR loc("-":2:2): expected operation name in quotes
// -----
module @a @b {}
// ==>
ERR loc("-":1:10): expected '{' to begin a region
// -----
module attributes {
// ==>
ERR loc("-":1:20): expected attribute name
// -----
module { module { } module @x { } }
// ==>
module {
  module {
  }
  module @x {
  }
}
// -----
module {}
module {}
// ==>
module {
  module {
  }
  module {
  }
}
// -----
func.func @f() { return }
// ==>
module {
  func.func @f() {
    return
  }
}
// -----
func.func @f() { 
}
// ==>
ERR loc("-":1:16): custom op 'func.func' expected non-empty function body
// -----
func.func private @f(i32, f32 {a.b = 1}) -> (i32 {a.c})
// ==>
module {
  func.func private @f(i32, f32 {a.b = 1 : i64}) -> (i32 {a.c})
}
// -----
func.func private @f(%a: i32)
// ==>
module {
  func.func private @f(i32)
}
// -----
func.func @f(%a: i32, i32) { return }
// ==>
ERR loc("-":1:23): custom op 'func.func' expected SSA identifier
// -----
func.func @f(i32, %a: i32) { return }
// ==>
ERR loc("-":1:19): custom op 'func.func' expected type instead of SSA identifier
// -----
func.func @f(%a: i32, %a: i32) { return }
// ==>
ERR loc("-":1:23): region entry argument '%a' is already in use [note: loc("-":1:14): previously referenced here]
// -----
func.func @f(%a) { return }
// ==>
ERR loc("-":1:16): expected ':'
// -----
func.func @f(%a: i32 { return }
// ==>
ERR loc("-":1:32): expected ')'
// -----
func.func @f %a: i32) { return }
// ==>
ERR loc("-":1:13): expected '('
// -----
func.func f() { return }
// ==>
ERR loc("-":1:11): custom op 'func.func' expected valid '@'-identifier for symbol name
// -----
func.func @f() -> { return }
// ==>
ERR loc("-":1:18): expected non-function type
// -----
func.func @f() -> i32, i32 { return }
// ==>
ERR loc("-":1:22): expected operation name in quotes
// -----
func.func @f() -> () { return }
// ==>
module {
  func.func @f() {
    return
  }
}
// -----
func.func @f(...) { return }
// ==>
ERR loc("-":1:14): expected non-function type
// -----
func.func @f(%a: i32, ...) { return }
// ==>
ERR loc("-":1:23): custom op 'func.func' expected SSA identifier
// -----
func.func public @f() { return }
// ==>
module {
  func.func public @f() {
    return
  }
}
// -----
func.func nested @f() { return }
// ==>
module {
  func.func nested @f() {
    return
  }
}
// -----
func.func other @f() { return }
// ==>
ERR loc("-":1:11): custom op 'func.func' expected valid '@'-identifier for symbol name
// -----
func.func @f() attributes {a.b = 1} { return }
// ==>
module {
  func.func @f() attributes {a.b = 1 : i64} {
    return
  }
}
// -----
func.func @f() attributes {sym_name = "g"} { return }
// ==>
ERR loc("-":1:16): custom op 'func.func' 'sym_name' is an inferred attribute and should not be specified in the explicit attribute dictionary
// -----
func.func @f() attributes {sym_visibility = "private"} { return }
// ==>
ERR loc("-":1:16): custom op 'func.func' 'sym_visibility' is an inferred attribute and should not be specified in the explicit attribute dictionary
// -----
func.func @f() {
^bb0:
  return
}
// ==>
module {
  func.func @f() {
    return
  }
}
// -----
func.func @f(%a: i32) {
^bb0:
  return
}
// ==>
ERR loc("-":2:1): invalid block name in region with named arguments
// -----
func.func @f() {
  return
^bb1:
  return
}
// ==>
module {
  func.func @f() {
    return
  ^bb1:  // no predecessors
    return
  }
}
// -----
"foo.r"() ({
  "foo.br"()[^bb1] : () -> ()
^bb1:
  "foo.br"()[^bb1, ^bb2] : () -> ()
^bb2(%a: i32, %b: f32):
  "foo.br"()[^bb1] : () -> ()
}) : () -> ()
// ==>
module {
  "foo.r"() ({
    "foo.br"()[^bb1] : () -> ()
  ^bb1:  // 3 preds: ^bb0, ^bb1, ^bb2
    "foo.br"()[^bb1, ^bb2] : () -> ()
  ^bb2(%0: i32, %1: f32):  // pred: ^bb1
    "foo.br"()[^bb1] : () -> ()
  }) : () -> ()
}
// -----
"foo.r"() ({
  "foo.br"()[^bb3] : () -> ()
}) : () -> ()
// ==>
ERR loc("-":2:14): reference to an undefined block
// -----
"foo.r"() ({
^a:
  "foo.br"()[^a] : () -> ()
^a:
  "foo.br"()[^a] : () -> ()
}) : () -> ()
// ==>
ERR loc("-":4:1): redefinition of block '^a'
// -----
"foo.r"() ({
^a
  "foo.br"()[^a] : () -> ()
}) : () -> ()
// ==>
ERR loc("-":2:3): expected ':' after block name
// -----
"foo.r"() ({
^a(%x):
  "foo.br"()[^a] : () -> ()
}) : () -> ()
// ==>
ERR loc("-":2:6): expected ':' and type for SSA operand
// -----
"foo.r"() ({
^a(%x i32):
  "foo.br"()[^a] : () -> ()
}) : () -> ()
// ==>
ERR loc("-":2:6): expected ':' and type for SSA operand
// -----
"foo.r"() ({
^a():
  "foo.br"() : () -> ()
}) : () -> ()
// ==>
module {
  "foo.r"() ({
    "foo.br"() : () -> ()
  }) : () -> ()
}
// -----
"foo.r"() ({
^a(i32):
  "foo.br"() : () -> ()
}) : () -> ()
// ==>
ERR loc("-":2:4): expected SSA operand
// -----
"foo.r"() ({
  ^bb0:
}) : () -> ()
// ==>
module {
  "foo.r"() ({
  ^bb0:
  }) : () -> ()
}
// -----
"foo.r"() ({
}, {
  "foo.x"() : () -> ()
}) : () -> ()
// ==>
module {
  "foo.r"() ({
  }, {
    "foo.x"() : () -> ()
  }) : () -> ()
}
// -----
"foo.r"() ({
  "foo.x"() : () -> ()
} : () -> ()
// ==>
ERR loc("-":3:2): expected ')' to end region list
// -----
"foo.r"() ({
  "foo.x"() : () -> ()
}, ) : () -> ()
// ==>
ERR loc("-":3:3): expected '{' to begin a region
// -----
"foo.r"() () : () -> ()
// ==>
ERR loc("-":1:12): expected '{' to begin a region
// -----
"foo.r"() ({
  "foo.x"(%a) : (i32) -> ()
  %a = "foo.y"() : () -> i32
}) : () -> ()
// ==>
module {
  "foo.r"() ({
    "foo.x"(%0) : (i32) -> ()
    %0 = "foo.y"() : () -> i32
  }) : () -> ()
}
// -----
%a = "foo.y"() : () -> i32
"foo.r"() ({
  "foo.x"(%a) : (i32) -> ()
  "foo.x"(%b) : (i32) -> ()
  %a = "foo.y"() : () -> i32
}) : () -> ()
%b = "foo.y"() : () -> i32
// ==>
ERR loc("-":5:3): redefinition of SSA value '%a' [note: loc("-":1:1): previously defined here]
// -----
"foo.r"() ({
  %a = "foo.y"() : () -> i32
}) : () -> ()
"foo.r"() ({
  %a = "foo.y"() : () -> i32
}) : () -> ()
"foo.z"(%a) : (i32) -> ()
// ==>
ERR loc("-":7:9): use of undeclared SSA value name
// -----
%a = "foo.y"() : () -> i32
func.func @f() {
  %a = "foo.z"() : () -> f32
  return
}
"foo.z"(%a) : (i32) -> ()
// ==>
ERR loc("-":3:3): redefinition of SSA value '%a' [note: loc("-":1:1): previously defined here]
// -----
"foo.z"() <{a = 1}> {b = 2} : () -> ()
// ==>
module {
  "foo.z"() <{a = 1 : i64}> {b = 2 : i64} : () -> ()
}
// -----
"foo.z"() <{a = 1}> {a = 2} : () -> ()
// ==>
module {
  "foo.z"() <{a = 1 : i64}> {a = 2 : i64} : () -> ()
}
// -----
"func.func"() <{sym_name = "f", function_type = () -> ()}> ({"func.return"() : () -> ()}) : () -> ()
// ==>
module {
  func.func @f() {
    return
  }
}
// -----
"func.func"() ({"func.return"() : () -> ()}) {sym_name = "f", function_type = () -> (), x.y = 1} : () -> ()
// ==>
module {
  func.func @f() attributes {x.y = 1 : i64} {
    return
  }
}
// -----
"func.func"() <{sym_name = "f", function_type = () -> ()}> ({"func.return"() : () -> ()}) {sym_name = "g"} : () -> ()
// ==>
module {
  func.func @f() {
    return
  }
}
// -----
func.foo
// ==>
ERR loc("-":1:1): custom op 'func.foo' is unknown
// -----
"foo.z"() {a = 1, b} loc("x") : () -> ()
// ==>
ERR loc("-":1:21): expected ':' followed by operation type
// -----
"foo.z"() : () -> () "foo.y"() : () -> ()
// ==>
module {
  "foo.z"() : () -> ()
  "foo.y"() : () -> ()
}
// -----
"foo.z"() : () -> () // comment
"foo.y"() // "%x" : ( 
 : () -> ()
// ==>
module {
  "foo.z"() : () -> ()
  "foo.y"() : () -> ()
}
// -----
#a = 1 : i32
#a = 2 : i32
// ==>
ERR loc("-":2:1): redefinition of attribute alias id 'a'
// -----
#a.b = 1 : i32
// ==>
ERR loc("-":1:1): attribute names with a '.' are reserved for dialect-defined names
// -----
!a.b = i32
// ==>
ERR loc("-":1:1): type names with a '.' are reserved for dialect-defined names
// -----
#a 1
// ==>
ERR loc("-":1:3): expected '=' in attribute alias definition
// -----
#a =
// ==>
ERR loc("-":1:5): expected attribute value
// -----
!a = 
// ==>
ERR loc("-":1:5): expected non-function type
// -----
!a = 5
// ==>
ERR loc("-":1:5): expected non-function type
// -----
#a = i32
"foo.x"() {a = #a} : () -> ()
// ==>
module {
  "foo.x"() {a = i32} : () -> ()
}
// -----
"foo.x"() {a = #a} : () -> ()
#a = i32
// ==>
ERR loc("-":1:18): undefined symbol alias id 'a'
// -----
!a = i32
"foo.x"() {a = !a} : () -> (!a)
// ==>
module {
  %0 = "foo.x"() {a = i32} : () -> i32
}
// -----
"foo.x"() : () -> (!a)
!a = i32
// ==>
ERR loc("-":1:22): undefined symbol alias id 'a'
// -----
{-#
  dialect_resources: {
    builtin: {
      blob1: "0x04000000010203"
    }
  }
#-}
// ==>
module {
}
// -----
"foo.x"() {a = dense_resource<blob1> : tensor<3xi8>} : () -> ()
{-#
  dialect_resources: {
    builtin: {
      blob1: "0x04000000010203"
    }
  },
  external_resources: {
    foo: { a: true, b: "x" }
  }
#-}
// ==>
module {
  "foo.x"() {a = dense_resource<blob1> : tensor<3xi8>} : () -> ()
}

{-#
  dialect_resources: {
    builtin: {
      blob1: "0x04000000010203"
    }
  }
#-}
// -----
{-#
  external_resources: {
    mlir_reproducer: {
      pipeline: "builtin.module()",
      disable_threading: true,
      verify_each: true
    }
  }
#-}
// ==>
module {
}
// -----
{-#
  foo: {}
#-}
// ==>
ERR loc("-":2:3): unknown key 'foo' in file metadata dictionary
// -----
{-#
// ==>
ERR loc("-":1:4): expected identifier key in file metadata dictionary
// -----
;
// ==>
ERR loc("-":1:1): unexpected character
// -----
"foo.x"() {a = 5 : i32;} : () -> ()
// ==>
ERR loc("-":1:23): unexpected character
// -----
"foo.x"() {"a b" = 1, "c" = 2} : () -> ()
// ==>
module {
  "foo.x"() {"a b" = 1 : i64, c = 2 : i64} : () -> ()
}
// -----
"foo.x"() {a = "\zz"} : () -> ()
// ==>
ERR loc("-":1:17): unknown escape in string literal
// -----
"foo.x"() {a = "abc
def"} : () -> ()
// ==>
ERR loc("-":1:20): expected '"' in string literal
// -----
"foo.x"() {a = @"abc
// ==>
ERR loc("-":1:21): expected '"' in string literal
// -----
"foo.x"() {a = ..} : () -> ()
// ==>
ERR loc("-":1:17): expected three consecutive dots for an ellipsis
// -----
"foo.x"() {a = / } : () -> ()
// ==>
ERR loc("-":1:15): expected attribute value
// -----
"foo.x"() {a = & } : () -> ()
// ==>
ERR loc("-":1:16): unexpected character
// -----
"foo.x"() {a = % } : () -> ()
// ==>
ERR loc("-":1:16): invalid SSA name
// -----
"foo.x"() {a = ^ } : () -> ()
// ==>
ERR loc("-":1:16): invalid block name
// -----
"foo.x"() {a = # } : () -> ()
// ==>
ERR loc("-":1:16): invalid attribute name
// -----
"foo.x"() {a = ! } : () -> ()
// ==>
ERR loc("-":1:16): invalid type identifier
// -----
"foo.x"() {a = 1.e } : () -> ()
// ==>
ERR loc("-":1:18): expected '}' in attribute dictionary
// -----
"foo.x"() {a = 1.0e+ } : () -> ()
// ==>
ERR loc("-":1:19): expected '}' in attribute dictionary
// -----
"foo.x"() {a = 0xg } : () -> ()
// ==>
ERR loc("-":1:17): expected '}' in attribute dictionary
// -----
"foo.x"() {a = 0x } : () -> ()
// ==>
ERR loc("-":1:17): expected '}' in attribute dictionary
// -----
"foo.x"() {a = 1x } : () -> ()
// ==>
ERR loc("-":1:17): expected '}' in attribute dictionary
// -----
"foo.x"() {a = é } : () -> ()
// ==>
ERR loc("-":1:16): unexpected character
// -----
"foo.x"() {é = 1 } : () -> ()
// ==>
ERR loc("-":1:12): unexpected character
// -----
func.func @f() { call @g() : () -> () return }
func.func private @g()
// ==>
module {
  func.func @f() {
    call @g() : () -> ()
    return
  }
  func.func private @g()
}
// -----
func.func @f(%a: i32) { %0:2 = call @g(%a, %a) {x.y = 1} : (i32, i32) -> (i32, i32) return }
func.func private @g(i32, i32) -> (i32, i32)
// ==>
module {
  func.func @f(%arg0: i32) {
    %0:2 = call @g(%arg0, %arg0) {x.y = 1 : i64} : (i32, i32) -> (i32, i32)
    return
  }
  func.func private @g(i32, i32) -> (i32, i32)
}
// -----
func.func @f(%a: i32) { %0 = call @g(%a) : (i32, i32) -> (i32) return }
func.func private @g(i32, i32) -> (i32)
// ==>
ERR loc("-":1:38): custom op 'func.call' number of operands and types do not match: got 1 operands and 2 types
// -----
func.func @f(%a: i32) -> i32 { return %a }
// ==>
ERR loc("-":1:41): expected ':'
// -----
func.func @f(%a: i32) -> i32 { return %a : i32, i32 }
// ==>
ERR loc("-":1:39): custom op 'func.return' number of operands and types do not match: got 1 operands and 2 types
// -----
func.func @f(%a: i32) -> i32 { return %a, : i32 }
// ==>
ERR loc("-":1:42): expected SSA operand
// -----
func.func @f(%a: i32) -> i32 { return : i32 }
// ==>
ERR loc("-":1:38): expected operation name in quotes
// -----
func.func @f(%a: i32) -> i32 { return {x.y = 1} %a : i32 }
// ==>
module {
  func.func @f(%arg0: i32) -> i32 {
    return {x.y = 1 : i64} %arg0 : i32
  }
}
