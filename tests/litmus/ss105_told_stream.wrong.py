"""Rows of a table in blocks of a pool, each for a stream; another stream finds them by a list of addresses."""

from cuda.bindings import runtime as cudart
from gpu_common import check

import streamsan.pools

ROW = 4096
ROWS = 4


class RowPool:
    """Blocks of one allocation, each for a stream. It is told which other streams use a block."""

    def __init__(self, blocks):
        self.base = check(cudart.cudaMalloc(blocks * ROW))
        self.unused = [self.base + ROW * number for number in range(blocks)]

    def take(self, stream):
        row = self.unused.pop()
        streamsan.pools.hand_out(row, ROW, stream)
        return row

    def record_stream(self, row, stream):
        streamsan.pools.record_stream(row, stream)

    def give(self, row, stream):
        streamsan.pools.take_back(row, stream)
        self.unused.append(row)

    def close(self):
        check(cudart.cudaFree(self.base))


class Table:
    """Rows are filled on one stream. The other one works on all of them, by a list of their addresses on the device."""

    def __init__(self, pool):
        self.pool = pool
        self.fill = check(cudart.cudaStreamCreateWithFlags(cudart.cudaStreamNonBlocking))
        self.sum = check(cudart.cudaStreamCreateWithFlags(cudart.cudaStreamNonBlocking))
        self.filled = check(cudart.cudaEventCreateWithFlags(cudart.cudaEventDisableTiming))
        self.summed = check(cudart.cudaEventCreateWithFlags(cudart.cudaEventDisableTiming))
        self.list = check(cudart.cudaMalloc(8 * ROWS))

    def round(self, number):
        rows = [self.pool.take(self.fill) for _ in range(ROWS)]
        for row in rows:
            check(cudart.cudaMemsetAsync(row, number, ROW, self.fill))
        check(cudart.cudaEventRecord(self.filled, self.fill))
        check(cudart.cudaStreamWaitEvent(self.sum, self.filled, 0))
        check(cudart.cudaMemsetAsync(self.list, 0, 8 * ROWS, self.sum))  # stands for the kernel that follows the list
        check(cudart.cudaEventRecord(self.summed, self.sum))
        for row in rows:
            self.pool.record_stream(row, self.sum)
        for row in rows:
            self.pool.give(row, self.fill)  # expect: SS105

    def close(self):
        check(cudart.cudaStreamSynchronize(self.fill))
        check(cudart.cudaStreamSynchronize(self.sum))
        check(cudart.cudaFree(self.list))
        check(cudart.cudaEventDestroy(self.filled))
        check(cudart.cudaEventDestroy(self.summed))
        check(cudart.cudaStreamDestroy(self.fill))
        check(cudart.cudaStreamDestroy(self.sum))


def main():
    pool = RowPool(ROWS)
    table = Table(pool)
    for number in range(3):
        table.round(number)
    table.close()
    pool.close()


main()
