"""Delay-and-sum imaging: delays on one stream, image formation on another."""

import cupy as cp
import numpy as np

CHANNELS = 64
SAMPLES = 1024
FRAMES = 10

SOURCE = r"""
extern "C" __global__ void apply_delays(const float* rf, float* aligned, int samples, int frame) {
    int s = blockIdx.x * blockDim.x + threadIdx.x, c = blockIdx.y;
    long long t0 = clock64();
    while (clock64() - t0 < 150000) { }
    int d = (c * 3 + frame) % 32;
    aligned[c * samples + s] = s >= d ? rf[c * samples + s - d] : 0.0f;
}

extern "C" __global__ void form_image(float* aligned, float* image, int channels, int samples) {
    int s = blockIdx.x * blockDim.x + threadIdx.x;
    float a = 0.0f;
    for (int c = 0; c < channels; ++c) a += aligned[c * samples + s];
    image[s] = a;
}
"""


class Beamformer:
    def __init__(self):
        module = cp.RawModule(code=SOURCE)
        self.apply_delays = module.get_function("apply_delays")
        self.form_image = module.get_function("form_image")
        self.delay_stream = cp.cuda.Stream(non_blocking=True)
        self.image_stream = cp.cuda.Stream(non_blocking=True)
        self.delayed = cp.cuda.Event(disable_timing=True)
        self.imaged = cp.cuda.Event(disable_timing=True)
        rf = (np.arange(CHANNELS * SAMPLES) % 37).astype(np.float32)
        self.rf = cp.asarray(rf.reshape(CHANNELS, SAMPLES))
        self.aligned = cp.zeros((CHANNELS, SAMPLES), dtype=cp.float32)
        self.images = cp.zeros((FRAMES, SAMPLES), dtype=cp.float32)
        self.rows = [self.images[f] for f in range(FRAMES)]
        cp.cuda.Device().synchronize()

    def frame(self, index: int) -> None:
        self.delay_stream.wait_event(self.imaged)
        with self.delay_stream:
            self.apply_delays(
                (SAMPLES // 128, CHANNELS), (128,), (self.rf, self.aligned, np.int32(SAMPLES), np.int32(index))
            )
        self.delayed.record(self.delay_stream)
        self.image_stream.wait_event(self.delayed)
        with self.image_stream:
            self.form_image(
                (SAMPLES // 128,), (128,), (self.aligned, self.rows[index], np.int32(CHANNELS), np.int32(SAMPLES))
            )
        self.imaged.record(self.image_stream)

    def digest(self) -> float:
        self.image_stream.synchronize()
        self.delay_stream.synchronize()
        host = cp.asnumpy(self.images)
        weights = np.arange(1, FRAMES + 1, dtype=np.float64)[:, None]
        return float((host.astype(np.float64) * weights).sum())


def main() -> None:
    beamformer = Beamformer()
    for index in range(FRAMES):
        beamformer.frame(index)
    print("image digest", beamformer.digest())


if __name__ == "__main__":
    main()
