from __future__ import annotations

import pytest
from reading import kinds, run_main

WORK = "float* p; cudaMalloc(&p, 64); fill<<<1, 1>>>(p, 1); cudaDeviceSynchronize(); "


@pytest.mark.parametrize(
    "reading",
    [
        "auto now = std::chrono::steady_clock::now();",
        "clock_t now = clock();",
        "double now = omp_get_wtime();",
        "timeval now; gettimeofday(&now, nullptr);",
        "sdkStopTimer(&timer);",
        "stopwatch_lap(3);",
    ],
)
def test_reading_a_clock_is_on_record(tmp_path, reading):
    assert "HOST_CLOCK" in kinds(run_main(WORK + reading, tmp_path))


def test_other_calls_read_no_clock(tmp_path):
    assert "HOST_CLOCK" not in kinds(run_main(WORK + 'printf("%p", p); compute(3);', tmp_path))
