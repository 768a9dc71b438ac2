#!/bin/sh
# Builds callbacks.cpp (needs CUPTI's headers) and callbacks.cu, and runs each case in a process of its own.
set -u
here=$(dirname "$0")
out=${TMPDIR:-/tmp}
cuda=$(dirname "$(dirname "$(readlink -f "$(command -v nvcc)")")")
nvcc -o "$out/callbacks" "$here/callbacks.cu" || exit 2
c++ -O2 -shared -fPIC -I"$cuda/include" -I"$cuda/extras/CUPTI/include" -o "$out/callbacks.so" "$here/callbacks.cpp" \
    -L"$cuda/lib64" -L"$cuda/extras/CUPTI/lib64" -L"$cuda/lib64/stubs" -lcupti -lcuda \
    -Wl,-rpath,"$cuda/lib64:$cuda/extras/CUPTI/lib64" || exit 2
for case in launch fork capture failures destructor reset twice; do
    echo "I | case | $case"
    CUDA_INJECTION64_PATH="$out/callbacks.so" "$out/callbacks" "$case"
    echo "I | case | $case ended with status $?"
done 2>&1
