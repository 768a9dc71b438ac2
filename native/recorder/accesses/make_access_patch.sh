#!/bin/sh
# Makes src/streamsan/recorder/access_patch.fatbin with nvcc (that of CUDA 13.0 made the one that is kept). Beside it lies
# a hash of its sources, which a test compares.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
native=$(cd "$here/../.." && pwd)
out=$native/../src/streamsan/recorder/access_patch.fatbin
targets=""
for version in 75 80 86 87 89 90 100 103 110 120 121; do
    targets="$targets -gencode arch=compute_$version,code=sm_$version"
done
# shellcheck disable=SC2086
nvcc --fatbin --compile-as-tools-patch -std=c++17 --expt-relaxed-constexpr -O3 -compress-mode=size -I"$native" $targets -o "$out" "$here/access_patch.cu"
cat "$here/access_patch.cu" "$here/device_notes.hpp" | sha256sum | cut -d' ' -f1 > "${out%.fatbin}.sources"
