//! Nothing: the benchmarks beside this file are all that this package has.
