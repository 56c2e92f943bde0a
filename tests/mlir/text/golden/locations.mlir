module {
} loc("a":1:2 to 3:4)
// ==>
module {
} loc(#loc)
#loc = loc("a":1:2 to 3:4)
// -----
module {
} loc("a":1:2 to :4)
// ==>
module {
} loc(#loc)
#loc = loc("a":1:2 to :4)
// -----
module {
} loc("a":1)
// ==>
module {
} loc(#loc)
#loc = loc("a":1:0)
// -----
module {
} loc("a":1:2 to 1:2)
// ==>
module {
} loc(#loc)
#loc = loc("a":1:2)
// -----
module {
} loc("a":1:2 to 1:5)
// ==>
module {
} loc(#loc)
#loc = loc("a":1:2 to :5)
// -----
module {
} loc("a":0:0)
// ==>
module {
} loc(#loc)
#loc = loc("a":0:0)
// -----
module {
} loc(unknown)
// ==>
module {
} loc(#loc)
#loc = loc(unknown)
// -----
module {
} loc("x"("a":1:2))
// ==>
module {
} loc(#loc1)
#loc = loc("a":1:2)
#loc1 = loc("x"(#loc))
// -----
module {
} loc("x"(unknown))
// ==>
module {
} loc(#loc)
#loc = loc("x")
// -----
module {
} loc("x")
// ==>
module {
} loc(#loc)
#loc = loc("x")
// -----
module {
} loc(fused["a", "b"])
// ==>
module {
} loc(#loc2)
#loc = loc("a")
#loc1 = loc("b")
#loc2 = loc(fused[#loc, #loc1])
// -----
module {
} loc(fused["a"])
// ==>
module {
} loc(#loc)
#loc = loc("a")
// -----
module {
} loc(fused["a", "a"])
// ==>
module {
} loc(#loc)
#loc = loc("a")
// -----
module {
} loc(fused["a", unknown])
// ==>
module {
} loc(#loc)
#loc = loc("a")
// -----
module {
} loc(fused[])
// ==>
module {
} loc(#loc)
#loc = loc(unknown)
// -----
module {
} loc(fused<"m">["a", "b"])
// ==>
module {
} loc(#loc2)
#loc = loc("a")
#loc1 = loc("b")
#loc2 = loc(fused<"m">[#loc, #loc1])
// -----
module {
} loc(fused<#foo.x>["a", "b"])
// ==>
module {
} loc(#loc2)
#loc = loc("a")
#loc1 = loc("b")
#loc2 = loc(fused<#foo.x>[#loc, #loc1])
// -----
module {
} loc(callsite("a":1:2 at "b"(callsite("c" at "d":3:4))))
// ==>
module {
} loc(#loc5)
#loc = loc("a":1:2)
#loc1 = loc("c")
#loc2 = loc("d":3:4)
#loc3 = loc(callsite(#loc1 at #loc2))
#loc4 = loc("b"(#loc3))
#loc5 = loc(callsite(#loc at #loc4))
// -----
module {
} loc(fused[fused["a", "b"], "c"])
// ==>
module {
} loc(#loc3)
#loc = loc("a")
#loc1 = loc("b")
#loc2 = loc("c")
#loc3 = loc(fused[#loc, #loc1, #loc2])
// -----
module {
} loc(foo)
// ==>
ERR loc("-":2:7): expected location instance
// -----
module {
} loc()
// ==>
ERR loc("-":2:7): expected location instance
// -----
module {
} loc("a":)
// ==>
ERR loc("-":2:11): expected integer line number in FileLineColRange
// -----
module {
} loc("a":1:)
// ==>
ERR loc("-":2:13): expected integer column number in FileLineColRange
// -----
module {
} loc("a"(
// ==>
ERR loc("-":2:11): expected location instance
// -----
module {
} loc(callsite("a" "b"))
// ==>
ERR loc("-":2:19): expected 'at' in callsite location
// -----
module {
} loc(#loc3)
// ==>
ERR loc("-":2:7): operation location alias was never defined
// -----
module {
} loc(#loc3)
#loc3 = loc("x")
// ==>
module {
} loc(#loc)
#loc = loc("x")
// -----
#loc3 = loc("x")
module {
} loc(#loc3)
// ==>
module {
} loc(#loc)
#loc = loc("x")
// -----
#loc3 = loc("x")
module {
} loc(callsite(#loc3 at #loc4))
#loc4 = loc("y")
// ==>
ERR loc("-":3:30): undefined symbol alias id 'loc4'
// -----
module {
  "foo.a"() : () -> () loc("a")
  "foo.b"() : () -> () loc("b")
  "foo.c"() : () -> () loc("a")
  "foo.d"() : () -> () loc(callsite("a" at "b"))
} loc("m")
// ==>
module {
  "foo.a"() : () -> () loc(#loc1)
  "foo.b"() : () -> () loc(#loc2)
  "foo.c"() : () -> () loc(#loc1)
  "foo.d"() : () -> () loc(#loc3)
} loc(#loc)
#loc = loc("m")
#loc1 = loc("a")
#loc2 = loc("b")
#loc3 = loc(callsite(#loc1 at #loc2))
// -----
#loc = loc("a":1:1)
#loc1 = loc("n"(#loc))
module {
  "foo.a"() : () -> () loc(#loc1)
  "foo.b"() ({
  ^bb0(%a: i32 loc("arg"), %b: i32 loc(#loc)):
    "foo.x"(%a) : (i32) -> () loc("q"(#loc1))
  }) {z = loc("attr"), m = affine_map<(d0) -> (d0)>} : () -> () loc("b")
  func.func @f(%x: i32 {foo.k = affine_map<(d0) -> (d0 + 1)>} loc("argf")) -> (i32 {foo.j = affine_map<(d0) -> (d0 + 2)>}) attributes {foo.l = affine_map<(d0) -> (d0 + 3)>} {
    return %x : i32 loc("r")
  } loc("f")
} loc("m")
// ==>
#loc1 = loc("a":1:1)
#loc3 = loc("arg")
#loc4 = loc("attr")
#loc6 = loc("argf")
#map = affine_map<(d0) -> (d0)>
#map1 = affine_map<(d0) -> (d0 + 2)>
#map2 = affine_map<(d0) -> (d0 + 3)>
module {
  "foo.a"() : () -> () loc(#loc8)
  "foo.b"() ({
  ^bb0(%arg0: i32 loc("arg"), %arg1: i32 loc("a":1:1)):
    "foo.x"(%arg0) : (i32) -> () loc(#loc9)
  }) {m = #map, z = #loc4} : () -> () loc(#loc2)
  func.func @f(%arg0: i32 {foo.k = affine_map<(d0) -> (d0 + 1)>} loc("argf")) -> (i32 {foo.j = #map1}) attributes {foo.l = #map2} {
    return %arg0 : i32 loc(#loc7)
  } loc(#loc5)
} loc(#loc)
#loc = loc("m")
#loc2 = loc("b")
#loc5 = loc("f")
#loc7 = loc("r")
#loc8 = loc("n"(#loc1))
#loc9 = loc("q"(#loc8))
// -----
module {
  "foo.a"() : () -> ()
  %0 = "foo.b"() : () -> i32
}
// ==>
module {
  "foo.a"() : () -> () loc(#loc1)
  %0 = "foo.b"() : () -> i32 loc(#loc2)
} loc(#loc)
#loc = loc("-":1:1)
#loc1 = loc("-":2:3)
#loc2 = loc("-":3:8)
// -----
func.func @f(%x: i32, %y: i32) -> i32 {
  %0 = "foo.op"(%x, %y) : (i32, i32) -> i32
  return %0 : i32
}
// ==>
#loc2 = loc("-":1:14)
#loc3 = loc("-":1:23)
module {
  func.func @f(%arg0: i32 loc("-":1:14), %arg1: i32 loc("-":1:23)) -> i32 {
    %0 = "foo.op"(%arg0, %arg1) : (i32, i32) -> i32 loc(#loc4)
    return %0 : i32 loc(#loc5)
  } loc(#loc1)
} loc(#loc)
#loc = loc("-":0:0)
#loc1 = loc("-":1:1)
#loc4 = loc("-":2:8)
#loc5 = loc("-":3:3)
// -----
func.func @f(%x: i32
  , %y: i32) -> i32 {
  %0 = "foo.op"(%x, %y)
    : (i32, i32) -> i32
  return %0 : i32
}
// ==>
#loc2 = loc("-":1:14)
#loc3 = loc("-":2:5)
module {
  func.func @f(%arg0: i32 loc("-":1:14), %arg1: i32 loc("-":2:5)) -> i32 {
    %0 = "foo.op"(%arg0, %arg1) : (i32, i32) -> i32 loc(#loc4)
    return %0 : i32 loc(#loc5)
  } loc(#loc1)
} loc(#loc)
#loc = loc("-":0:0)
#loc1 = loc("-":1:1)
#loc4 = loc("-":3:8)
#loc5 = loc("-":5:3)
// -----
module {
  "foo.b"() ({
  }) : () -> ()
  "foo.b"() ({
  ^bb0:
    "foo.z"() : () -> ()
  ^bb1(%a: i32):
  "foo.z"() : () -> ()
  }) : () -> ()
}
// ==>
#loc4 = loc("-":7:8)
module {
  "foo.b"() ({
  }) : () -> () loc(#loc1)
  "foo.b"() ({
    "foo.z"() : () -> () loc(#loc3)
  ^bb1(%0: i32 loc("-":7:8)):  // no predecessors
    "foo.z"() : () -> () loc(#loc5)
  }) : () -> () loc(#loc2)
} loc(#loc)
#loc = loc("-":1:1)
#loc1 = loc("-":2:3)
#loc2 = loc("-":4:3)
#loc3 = loc("-":6:5)
#loc5 = loc("-":8:3)
// -----
"foo.a"() {m = affine_map<(d0) -> (d0)>, n = [affine_map<(d0) -> (d0)>, affine_map<(d0, d1) -> (d1)>], o = affine_set<(d0) : (d0 >= 0)>, p = {q = affine_map<(d0, d1, d2) -> (d1)>}} : () -> ()
"foo.b"() <{a = affine_map<(d0) -> (d0 + 5)>}> {m = affine_map<(d0) -> (d0)>} : () -> (memref<2xf32, affine_map<(d0) -> (d0 * 2)>>)
// ==>
#map = affine_map<(d0) -> (d0)>
#map1 = affine_map<(d0, d1) -> (d1)>
#map2 = affine_map<(d0, d1, d2) -> (d1)>
#map3 = affine_map<(d0) -> (d0 * 2)>
#set = affine_set<(d0) : (d0 >= 0)>
module {
  "foo.a"() {m = #map, n = [#map, #map1], o = #set, p = {q = #map2}} : () -> () loc(#loc1)
  %0 = "foo.b"() <{a = affine_map<(d0) -> (d0 + 5)>}> {m = #map} : () -> memref<2xf32, #map3> loc(#loc2)
} loc(#loc)
#loc = loc("-":0:0)
#loc1 = loc("-":1:1)
#loc2 = loc("-":2:1)
// -----
"foo.a"() : () -> (tuple<i32,i32,i32,i32,i32,i32,i32,i32,i32,i32,i32,i32,i32,i32,i32,i32,i32,i32,i32>)
"foo.a"() : () -> (tuple<i32,i32,i32,i32,i32,i32,i32,i32,i32,i32,i32,i32,i32,i32,i32,i32>)
"foo.a"() : () -> (tuple<i32,i32,i32,i32,i32,i32,i32,i32,i32,i32,i32,i32,i32,i32,i32,i32, i64>)
// ==>
!tuple = tuple<i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32>
!tuple1 = tuple<i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i64>
module {
  %0 = "foo.a"() : () -> !tuple loc(#loc1)
  %1 = "foo.a"() : () -> tuple<i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32> loc(#loc2)
  %2 = "foo.a"() : () -> !tuple1 loc(#loc3)
} loc(#loc)
#loc = loc("-":0:0)
#loc1 = loc("-":1:1)
#loc2 = loc("-":2:1)
#loc3 = loc("-":3:1)
// -----
#a = 5 : i32
#b = [#a, #a]
!t = tensor<2xi32>
!u = tuple<!t, !t>
"foo.a"() {m = #a, n = #b} : () -> (!t, !u)
// ==>
module {
  %0:2 = "foo.a"() {m = 5 : i32, n = [5 : i32, 5 : i32]} : () -> (tensor<2xi32>, tuple<tensor<2xi32>, tensor<2xi32>>) loc(#loc1)
} loc(#loc)
#loc = loc("-":0:0)
#loc1 = loc("-":5:1)
