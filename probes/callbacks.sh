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

# A stream from before a reset, destroyed: alone, and with a subscriber that does nothing.
c++ -O2 -shared -fPIC -I"$cuda/include" -I"$cuda/extras/CUPTI/include" -o "$out/empty.so" \
    "$here/../bench/recorder/empty_subscriber.cpp" -L"$cuda/lib64" -L"$cuda/extras/CUPTI/lib64" -lcupti \
    -Wl,-rpath,"$cuda/lib64:$cuda/extras/CUPTI/lib64" || exit 2
for library in "" "$out/empty.so"; do
    echo "I | stale | subscriber: ${library:-none}: the statuses of 20 runs:" \
        "$(for run in $(seq 20); do CUDA_INJECTION64_PATH="$library" "$out/callbacks" stale >/dev/null 2>&1; echo $?; done |
            sort | uniq -c | tr '\n' ' ')"
done
