// RUN: sdy-opt %s --split-input-file | filecheck %s

// CHECK:      func.func @first()
// CHECK:      // -----
// CHECK-NEXT: module {
// CHECK-NEXT:   func.func @second()
func.func @first() {
  return
}

// -----

func.func @second() {
  return
}
