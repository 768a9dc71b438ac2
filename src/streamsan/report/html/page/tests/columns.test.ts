import assert from "node:assert/strict";
import { test } from "node:test";
import { eventsOf, peaks } from "../src/memory_series.ts";
import { addUp } from "../src/report.ts";
import { countTiles, lowerBound, nearest } from "../src/search.ts";
import { bytes, duration } from "../src/words.ts";

test("tiles count every value of the range once", () => {
  const values = Float64Array.from({ length: 1000 }, (_, i) => i * 0.7);
  const counts = new Uint32Array(37);
  countTiles(values, 100, 500, counts);
  const expected = values.filter((value) => value >= 100 && value < 500).length;
  assert.equal(counts.reduce((sum, each) => sum + each), expected);
  assert.ok(counts.every((each) => Math.abs(each - expected / 37) < 2));
});

test("a tile has the values that lie in it", () => {
  const counts = new Uint32Array(4);
  countTiles([0, 0, 1, 3, 3.9, 4], 0, 4, counts);
  assert.deepEqual([...counts], [2, 1, 0, 2]);
});

test("searches", () => {
  assert.equal(lowerBound([1, 2, 2, 5], 2), 1);
  assert.equal(lowerBound([1, 2, 2, 5], 9), 4);
  assert.equal(nearest([0, 10, 20], 14), 1);
  assert.equal(nearest([0, 10, 20], 16), 2);
  assert.equal(nearest([], 3), -1);
});

test("differences wrap as they were made", () => {
  const numbers = Uint32Array.from([5, 4294967295, 3]);
  addUp(numbers);
  assert.deepEqual([...numbers], [5, 4, 7]);
});

test("memory keeps its peak however narrow the picture", () => {
  // Two allocations, one of them short, between two columns.
  const events = eventsOf([0, 5, 6], [-1, 6, 9], [100, 1000, 10], (each) => each, () => 0);
  assert.deepEqual([...peaks(events, 1, 0, 10, 2)], [100, 1100]);
  assert.deepEqual([...peaks(events, 1, 0, 10, 10)], [100, 100, 100, 100, 100, 1100, 1100, 110, 110, 110]);
});

test("what is freed and taken at one place is no peak", () => {
  const events = eventsOf([0, 4], [4, -1], [100, 100], (each) => each, (bar) => bar);
  assert.deepEqual([...peaks(events, 2, 4, 5, 1)], [100, 0]);
  assert.deepEqual([...peaks(events, 2, 5, 6, 1)], [0, 100]);
});

test("words", () => {
  assert.equal(bytes(1536), "1.5 KiB");
  assert.equal(bytes(12), "12 bytes");
  assert.equal(duration(1_500_000), "1.5 ms");
  assert.equal(duration(100_000_000_000), "100 s");
});
