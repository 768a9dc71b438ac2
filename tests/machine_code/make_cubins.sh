#!/usr/bin/env bash
# Compiles the kernels for several architectures. Run it after a change, where nvcc is, and commit what it makes.
set -euo pipefail
cd "$(dirname "$0")"
for architecture in sm_75 sm_90 sm_120; do
    for kernels in kernels extent_kernels talk_kernels poll_kernels constant_kernels tensor_kernels image_kernels; do
        # Tensor maps came with sm_90.
        [[ $kernels.$architecture == tensor_kernels.sm_75 ]] && continue
        nvcc -std=c++17 -arch="$architecture" -cubin -o "$kernels.$architecture.cubin" "$kernels.cu"
    done
done
