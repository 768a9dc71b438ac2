// Where everything of a scene stands: columns for operations in the order of their issue, a row for each lane.
import type { Scene } from "./report.ts";
import { type Category, categoryOf } from "./run.ts";

export const LANE_HEIGHT = 76;
export const BAR_HEIGHT = 30;
export const BOX_HEIGHT = 28;
const CHARACTER = 7.1;
const SMALL = 24;
const GAP = 10;
/** characters that the label of a missing edge has room for */
const WIDTH_OF_LABEL = (reason: string) => reason.length * 6.9 + 74;
const WIDEST_LABEL = 22;
const WIDEST_LANE = 26;
/** a picture up to this wide has all labels */
const ROOM = 1060;

export interface Box {
  x: number;
  y: number;
  width: number;
  label: string;
  category: Category;
  /** the y of the host thread that called; NaN: the operation is the host's own */
  issuerY: number;
  named: boolean;
}

export interface Layout {
  width: number;
  height: number;
  /** where the lanes begin, behind their names */
  left: number;
  laneY: number[];
  laneNames: string[];
  boxes: Box[];
  barY: number[];
  bars: { x1: number; x2: number; begins: boolean; ends: boolean }[];
  /** places where operations are left out, with how many */
  gaps: { x: number; count: number }[];
}

export function layoutOf(scene: Scene): Layout {
  const decisive = new Set(scene.edges.filter((edge) => edge[3] !== "promised").flatMap(([source, target]) => [source, target]));
  const named = scene.operations.map((each, number) => each.role !== "" || decisive.has(number));
  const labels = scene.operations.map((each) => cut(shortName(each.name), WIDEST_LABEL));
  const left = Math.min(WIDEST_LANE, Math.max(...scene.lanes.map((lane) => lane[1].length), 8)) * CHARACTER + 26;
  const full = labels.map((label) => label.length * CHARACTER + 18);
  const gapWidth = (number: number) => (scene.operations[number].left_out > 0 && number > 0 ? 30 : 0);
  const total = full.reduce((sum, each, number) => sum + each + GAP + gapWidth(number), left);
  const top = scene.operations.some((each, number) => number > 0 && each.left_out > 0) ? 26 : 6;
  const apart = new Map<number, [number, number]>();
  for (const [source, target, reason, strength] of scene.edges) {
    if (strength !== "promised") apart.set(Math.max(source, target), [Math.min(source, target), WIDTH_OF_LABEL(reason)]);
  }
  const roomy = total <= ROOM;
  const laneY = scene.lanes.map((_, number) => top + number * LANE_HEIGHT + LANE_HEIGHT / 2);
  let x = left + 16;
  const gaps: Layout["gaps"] = [];
  const boxes: Box[] = [];
  scene.operations.forEach((each, number) => {
    if (gapWidth(number)) {
      gaps.push({ x: x + 9, count: each.left_out });
      x += gapWidth(number);
    }
    // The edge that the finding is about gets room for its words.
    const [other, room] = apart.get(number) ?? [-1, 0];
    if (other >= 0) x = Math.max(x, boxes[other].x + boxes[other].width + room);
    const labelled = roomy || named[number];
    const width = labelled ? Math.max(SMALL, full[number]) : SMALL;
    const box: Box = {
      x,
      y: laneY[each.lane] - BOX_HEIGHT / 2,
      width,
      label: labelled ? labels[number] : "",
      category: categoryOf(each.kind),
      issuerY: each.issuer < 0 ? NaN : laneY[each.issuer],
      named: named[number],
    };
    x += width + GAP;
    boxes.push(box);
  });
  const right = x + 8;
  const memoryTop = top + scene.lanes.length * LANE_HEIGHT + 14;
  const barY = scene.bars.map((_, number) => memoryTop + number * BAR_HEIGHT);
  const bars = scene.bars.map(([, begin, end]) => ({
    x1: begin >= 0 ? boxes[begin].x : left,
    x2: end >= 0 ? boxes[end].x + boxes[end].width / 2 : right,
    begins: begin >= 0,
    ends: end >= 0,
  }));
  return {
    width: right,
    height: memoryTop + scene.bars.length * BAR_HEIGHT + 4,
    left,
    laneY,
    laneNames: scene.lanes.map((lane) => cut(lane[1].replace(/`/g, ""), WIDEST_LANE)),
    boxes,
    barY,
    bars,
    gaps,
  };
}

export interface Arrow {
  path: string;
  /** where its label stands */
  x: number;
  y: number;
}

/** An arrow from the side of one box to that of another, beside it. */
export function sideArrowOf(from: Box, to: Box): Arrow {
  const right = to.x > from.x;
  if (Math.abs(from.y - to.y) > 1) {
    // Out of and into the sides that face each other: beside the boxes others stand on the lanes.
    const down = to.y > from.y;
    const inset = (box: Box) => Math.min(12, box.width / 3);
    const x1 = right ? from.x + from.width - inset(from) : from.x + inset(from);
    const x2 = right ? to.x + inset(to) : to.x + to.width - inset(to);
    const y1 = down ? from.y + BOX_HEIGHT : from.y;
    const y2 = down ? to.y - 3 : to.y + BOX_HEIGHT + 3;
    const bend = Math.max(Math.abs(y2 - y1) * 0.75, 30) * (down ? 1 : -1);
    return { path: `M${x1},${y1} C${x1},${y1 + bend} ${x2},${y2 - bend} ${x2},${y2}`, x: (x1 + x2) / 2, y: (y1 + y2) / 2 };
  }
  const x1 = right ? from.x + from.width : from.x;
  const x2 = right ? to.x - 3 : to.x + to.width + 3;
  const y1 = from.y + BOX_HEIGHT / 2;
  const y2 = to.y + BOX_HEIGHT / 2;
  const bend = (x2 - x1) * 0.5;
  return { path: `M${x1},${y1} C${x1 + bend},${y1} ${x2 - bend},${y2} ${x2},${y2}`, x: (x1 + x2) / 2, y: (y1 + y2) / 2 };
}

/** An arrow from one box to another, around what lies on their lanes. */
export function arrowOf(from: Box, to: Box, laneHeight = LANE_HEIGHT): Arrow {
  const middle = (box: Box) => box.x + box.width / 2;
  if (Math.abs(from.y - to.y) < 1) {
    // On one lane: an arc above it.
    const x1 = middle(from);
    const x2 = middle(to);
    const y = from.y;
    const lift = Math.min(26, laneHeight / 2 - 4);
    return { path: `M${x1},${y} C${x1},${y - lift} ${x2},${y - lift} ${x2},${y - 2}`, x: (x1 + x2) / 2, y: y - lift + 4 };
  }
  const down = to.y > from.y;
  const y1 = down ? from.y + BOX_HEIGHT : from.y;
  const y2 = down ? to.y - 2 : to.y + BOX_HEIGHT + 2;
  const x1 = middle(from);
  const x2 = middle(to);
  const bend = Math.max(18, Math.abs(y2 - y1) * 0.5) * (down ? 1 : -1);
  return { path: `M${x1},${y1} C${x1},${y1 + bend} ${x2},${y2 - bend} ${x2},${y2}`, x: (x1 + x2) / 2, y: (y1 + y2) / 2 };
}

/** A name without its namespaces and template arguments: what tells it apart at a glance. */
export function shortName(name: string): string {
  const bare = name.replace(/<.*$/, "");
  return bare.slice(bare.lastIndexOf("::") + 1).replace(/^:/, "") || name;
}

export function cut(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1)}\u2026`;
}
