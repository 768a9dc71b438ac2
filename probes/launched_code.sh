#!/bin/sh
# Builds launched_code.cu and two modules of one symbol, records it under both ways of loading code, and prints for each
# launch what the recording knows of its machine code. Then what that costs a storm of launches.
set -u
here=$(dirname "$0")
out=${TMPDIR:-/tmp}/launched_code
mkdir -p "$out"
nvcc -arch=native -o "$out/program" "$here/launched_code.cu" -lcuda || exit 2
for number in 1 2; do
    echo "extern \"C\" __global__ void same_name(float* to) { to[threadIdx.x] = $number; }" > "$out/module$number.cu"
    nvcc -arch=native -cubin -o "$out/module$number.cubin" "$out/module$number.cu" || exit 2
done
for loading in LAZY EAGER; do
    echo "L | CUDA_MODULE_LOADING=$loading"
    CUDA_MODULE_LOADING=$loading python -m streamsan run --no-check -o "$out/$loading.sst" -- \
        "$out/program" "$out/module1.cubin" "$out/module2.cubin" || echo "L | status $?"
    python "$here/../bench/kept_code.py" "$out/$loading.sst"
done
