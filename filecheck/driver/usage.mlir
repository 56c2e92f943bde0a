// RUN: not sdy-opt %s --no-such-flag 2>&1 | filecheck %s --check-prefix=FLAG
// RUN: not sdy-opt %s --pass-pipeline='builtin.module(no-such-pass)' 2>&1 | filecheck %s --check-prefix=PASS
// RUN: not sdy-opt %s.missing 2>&1 | filecheck %s --check-prefix=FILE
// RUN: sdy-opt --help | filecheck %s --check-prefix=HELP

// FLAG: sdy-opt: Unknown command line argument '--no-such-flag'.  Try: 'sdy-opt --help'
// PASS: error: 'no-such-pass' does not refer to a registered pass or pass pipeline
// FILE: cannot open input file '{{.*}}usage.mlir.missing': No such file or directory
// HELP: --sdy-close-shardings
// HELP: --sdy-propagation-pipeline
