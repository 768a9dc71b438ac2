// Counting in sorted columns: how a picture of any width is made of any number of operations.

/** The first index whose value is not less than `value`. */
export function lowerBound(sorted: ArrayLike<number>, value: number, from = 0, to = sorted.length): number {
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (sorted[middle] < value) from = middle + 1;
    else to = middle;
  }
  return from;
}

/**
 * How many values fall into each of `counts.length` equal tiles of [begin, end). Costs a search for each tile, however
 * many values there are; steps from tile to tile where they are few.
 */
export function countTiles(sorted: ArrayLike<number>, begin: number, end: number, counts: Uint32Array): void {
  const tiles = counts.length;
  const width = (end - begin) / tiles;
  let at = lowerBound(sorted, begin);
  const last = lowerBound(sorted, end, at);
  for (let tile = 0; tile < tiles; tile++) {
    const limit = tile === tiles - 1 ? last : lowerBound(sorted, begin + (tile + 1) * width, at, last);
    counts[tile] = limit - at;
    at = limit;
  }
}

/** The index of the value nearest to `value`; -1 of none. */
export function nearest(sorted: ArrayLike<number>, value: number): number {
  if (!sorted.length) return -1;
  const at = lowerBound(sorted, value);
  if (at === 0) return 0;
  if (at === sorted.length) return at - 1;
  return value - sorted[at - 1] <= sorted[at] - value ? at - 1 : at;
}
