#!/bin/sh
# Builds the programs beside this script against an installed ns-3 (3.37 or later).
#   NS3_PREFIX=/usr/local benches/validation/ns3/build.sh [DIRECTORY]
# NS3_PREFIX holds include/ns3 and lib (or lib64). The programs go to DIRECTORY (default: target/ns3).
# Headers of 3.37 (Debian's libns3-dev, NS3_PREFIX=/usr) need CXXSTANDARD=c++17.
# For a comparison of speed ns-3 must have been built with its profile "optimized", which has no asserts and no logs.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=${1:-$here/../../../target/ns3}
prefix=${NS3_PREFIX:?set NS3_PREFIX to the directory that holds include/ns3 and lib}
test -d "$prefix/include/ns3" || { echo "NS3_PREFIX=$prefix: there is no include/ns3" >&2; exit 2; }
lib=$prefix/lib64
for one in "$prefix/lib" "$prefix/lib/$("${CXX:-c++}" -dumpmachine)"; do
    if ls "$one"/libns3*core*.so >/dev/null 2>&1; then lib=$one; fi
done
libraries=
for module in core network internet point-to-point applications traffic-control mobility propagation wifi; do
    file=$(ls "$lib"/libns3*-"$module"*.so 2>/dev/null | head -n 1)
    test -n "$file" || { echo "NS3_PREFIX=$prefix: no library of the module $module in lib or lib64" >&2; exit 2; }
    libraries="$libraries $file"
done
mkdir -p "$out"
for program in tcp_bulk wifi_udp codel queues; do
    # shellcheck disable=SC2086  # a list of files
    "${CXX:-c++}" -std=${CXXSTANDARD:-c++20} -O3 -DNDEBUG -I"$prefix/include" -o "$out/$program" "$here/$program.cc" \
        $libraries -Wl,-rpath,"$lib" -Wl,--as-needed
done
echo "built in $out"
