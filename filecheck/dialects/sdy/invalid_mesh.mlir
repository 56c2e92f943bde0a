// RUN: sdy-opt %s --split-input-file --verify-diagnostics

// Meshes: their axes and devices.

// expected-error @+2 {{custom op 'sdy.mesh' axis size must be at least 1, got: 0}}
// expected-error @+1 {{custom op 'sdy.mesh' failed to parse Sdy_Mesh parameter 'axes' which is to be a `::llvm::ArrayRef<MeshAxisAttr>`}}
sdy.mesh @mesh = <["a"=2, "b"=0]>

// -----

// expected-error @+1 {{custom op 'sdy.mesh' duplicate axis name: "a"}}
sdy.mesh @mesh = <["a"=2, "a"=2]>

// -----

// expected-error @+1 {{custom op 'sdy.mesh' device id must be non-negative, got: -1}}
sdy.mesh @mesh = <["a"=2], device_ids=[0, -1]>

// -----

// expected-error @+1 {{custom op 'sdy.mesh' axes is empty and device_ids has more than one element}}
sdy.mesh @mesh = <[], device_ids=[0, 1]>

// -----

// expected-error @+1 {{custom op 'sdy.mesh' total product of axis sizes must match total number of device ids, got: 2 != 3}}
sdy.mesh @mesh = <["a"=2], device_ids=[1, 0, 2]>

// -----

// expected-error @+1 {{custom op 'sdy.mesh' sorted device ids must be iota(product(axes)), got: 1, 2}}
sdy.mesh @mesh = <["a"=2], device_ids=[2, 1]>

// -----

func.func @main() {
  // expected-error @+1 {{'sdy.mesh' op expects parent op 'builtin.module'}}
  sdy.mesh @mesh = <["a"=2]>
  return
}

// -----

// expected-note @+1 {{see existing symbol definition here}}
sdy.mesh @mesh = <["a"=2, "b"=4, "c"=8]>
// expected-error @+1 {{redefinition of symbol named 'mesh'}}
sdy.mesh @mesh = <["a"=2, "b"=4, "c"=8]>

// -----

// expected-error @+3 {{custom op 'sdy.mesh' integer value too large}}
// expected-error @+2 {{custom op 'sdy.mesh' failed to parse Sdy_MeshAxis parameter 'size' which is to be a `int64_t`}}
// expected-error @+1 {{custom op 'sdy.mesh' failed to parse Sdy_Mesh parameter 'axes' which is to be a `::llvm::ArrayRef<MeshAxisAttr>`}}
sdy.mesh @mesh = <["x"=9223372036854775808]>
