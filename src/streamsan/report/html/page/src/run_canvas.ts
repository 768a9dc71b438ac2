// Draws a part of a run: tiles of density where there are more operations than pixels, single operations where not.
import type { Mark } from "./app.tsx";
import { axisOf, colours, pixelOfColour, type Colours } from "./canvas.ts";
import type { LaneColumn, Run } from "./run.ts";
import { categoryOf } from "./run.ts";
import { cut, shortName } from "./scene_layout.ts";
import { countTiles, lowerBound, nearest } from "./search.ts";

export const LEFT = 190;
export const AXIS = 34;
export const ROW = 40;
const BOX = 25;
/** edges that are drawn at once: more would hide each other */
const MOST_EDGES = 500;
/** operations per pixel above which a lane is drawn in tiles */
const DENSE = 0.34;
const CHARACTER = 6.3;

export interface Picture {
  run: Run;
  columns: LaneColumn[];
  /** lanes that are drawn, from above */
  lanes: number[];
  timed: boolean;
  begin: number;
  end: number;
  width: number;
  selected: number;
  /** by lane: places of operations whose name was searched for; null: nothing was */
  matches: Float64Array[] | null;
  /** by call: whether its name was searched for */
  wanted: boolean[] | null;
  marks: Mark[];
}

export function heightOf(picture: { lanes: number[] }): number {
  return AXIS + picture.lanes.length * ROW + 6;
}

export function pixelOf(picture: Picture, place: number): number {
  return LEFT + ((place - picture.begin) / (picture.end - picture.begin)) * (picture.width - LEFT);
}

export function placeAt(picture: Picture, pixel: number): number {
  return picture.begin + ((pixel - LEFT) / (picture.width - LEFT)) * (picture.end - picture.begin);
}

function rowOf(picture: Picture, lane: number): number {
  const row = picture.lanes.indexOf(lane);
  return row < 0 ? NaN : AXIS + row * ROW + ROW / 2;
}

export function drawRun(context: CanvasRenderingContext2D, picture: Picture): void {
  const paint = colours(context.canvas);
  const { width, lanes } = picture;
  context.fillStyle = paint.surface;
  context.fillRect(0, 0, width, heightOf(picture));
  axisOf(context, paint, { begin: picture.begin, end: picture.end, left: LEFT, width, height: heightOf(picture), timed: picture.timed });
  lanes.forEach((lane, row) => {
    const y = AXIS + row * ROW + ROW / 2;
    context.strokeStyle = paint.line;
    context.beginPath();
    context.moveTo(LEFT, y);
    context.lineTo(width, y);
    context.stroke();
    context.save();
    context.beginPath();
    context.rect(LEFT, 0, width - LEFT, heightOf(picture));
    context.clip();
    drawLane(context, paint, picture, lane, y);
    context.restore();
  });
  context.save();
  context.beginPath();
  context.rect(LEFT, 0, width - LEFT, heightOf(picture));
  context.clip();
  drawEdges(context, paint, picture);
  drawSelected(context, paint, picture);
  drawMarks(context, paint, picture);
  context.restore();
  drawNames(context, paint, picture);
}

function drawLane(context: CanvasRenderingContext2D, paint: Colours, picture: Picture, lane: number, y: number): void {
  const column = picture.columns[lane];
  const from = lowerBound(column.places, picture.begin);
  const to = lowerBound(column.places, picture.end, from);
  const pixels = picture.width - LEFT;
  const dimmed = picture.matches !== null;
  if (to - from > pixels * DENSE) {
    drawTiles(context, paint, picture, column, y, dimmed ? 0.25 : 1);
    if (picture.matches) drawMatches(context, paint, picture, picture.matches[lane], y);
  } else drawSingly(context, paint, picture, column, Math.max(0, from - 1), to, y, dimmed ? 0.3 : 1);
}

/** Tiles: as high as many operations lie under them, coloured by what these are. */
function drawTiles(context: CanvasRenderingContext2D, paint: Colours, picture: Picture, column: LaneColumn, y: number, alpha: number): void {
  const tiles = picture.width - LEFT;
  const counts = column.byCategory.map(({ places }) => {
    const each = new Uint32Array(tiles);
    countTiles(places, picture.begin, picture.end, each);
    return each;
  });
  const packed = column.byCategory.map(({ category }) => pixelOfColour(paint[category]));
  let most = 1;
  for (let tile = 0; tile < tiles; tile++) {
    let sum = 0;
    for (const each of counts) sum += each[tile];
    most = Math.max(most, sum);
  }
  // Pixel by pixel: tens of thousands of rectangles take a canvas longer than a frame has.
  const image = new ImageData(tiles, BOX);
  const pixels = new Uint32Array(image.data.buffer);
  for (let tile = 0; tile < tiles; tile++) {
    let sum = 0;
    for (const each of counts) sum += each[tile];
    if (!sum) continue;
    // By the logarithm: one operation is seen beside a thousand.
    const height = BOX * (0.3 + 0.7 * (Math.log1p(sum) / Math.log1p(most)));
    let upto = 0;
    let row = 0;
    for (let number = 0; number < counts.length; number++) {
      if (!counts[number][tile]) continue;
      upto += counts[number][tile];
      // Each sort that is there is seen, however few of it there are.
      const end = Math.min(BOX, Math.max(row + 1, Math.round((height * upto) / sum)));
      for (; row < end; row++) pixels[(BOX - 1 - row) * tiles + tile] = packed[number];
    }
  }
  const layer = new OffscreenCanvas(tiles, BOX);
  layer.getContext("2d")!.putImageData(image, 0, 0);
  context.globalAlpha = alpha;
  context.imageSmoothingEnabled = false;
  context.drawImage(layer, LEFT, y - BOX / 2);
  context.globalAlpha = 1;
}

function drawSingly(context: CanvasRenderingContext2D, paint: Colours, picture: Picture, column: LaneColumn, from: number, to: number, y: number, alpha: number): void {
  const { run } = picture;
  const unit = (picture.width - LEFT) / (picture.end - picture.begin);
  context.globalAlpha = alpha;
  context.font = "11px system-ui, sans-serif";
  context.textBaseline = "middle";
  context.textAlign = "left";
  for (let at = from; at < to; at++) {
    const operation = column.operations[at];
    const x = pixelOf(picture, column.places[at]);
    const next = at + 1 < column.places.length ? pixelOf(picture, column.places[at + 1]) : Infinity;
    const length = picture.timed && run.duration ? run.duration[operation] * unit : unit;
    const width = Math.max(3, Math.min(picture.timed ? length : unit * 0.86, 160));
    const call = run.callOf(operation);
    const found = picture.wanted !== null && picture.wanted[run.call[operation]];
    context.globalAlpha = found ? 1 : alpha;
    context.fillStyle = paint[categoryOf(call[0])];
    context.fillRect(x, y - BOX / 2, width, BOX);
    if (found) {
      context.fillStyle = paint.match;
      context.fillRect(x, y + BOX / 2 + 1, width, 3);
    }
    if (run.failed.has(operation)) {
      context.strokeStyle = paint.error;
      context.strokeRect(x - 1, y - BOX / 2 - 1, width + 2, BOX + 2);
    }
    const inside = width > 44;
    const letters = Math.floor(((inside ? width : Math.min(next - x - width, 160)) - 10) / CHARACTER);
    if (letters >= 4) {
      context.fillStyle = inside ? paint.onColour : paint.text;
      const name = cut(shortName(call[1]), letters);
      context.fillText(name, inside ? x + 4 : x + width + 4, y);
    }
  }
  context.globalAlpha = 1;
}

function drawMatches(context: CanvasRenderingContext2D, paint: Colours, picture: Picture, places: Float64Array, y: number): void {
  const tiles = picture.width - LEFT;
  const counts = new Uint32Array(tiles);
  countTiles(places, picture.begin, picture.end, counts);
  context.fillStyle = paint.match;
  for (let tile = 0; tile < tiles; tile++) if (counts[tile]) context.fillRect(LEFT + tile - 0.5, y - BOX / 2 - 2, 2.5, BOX + 4);
}

function drawEdges(context: CanvasRenderingContext2D, paint: Colours, picture: Picture): void {
  const { run } = picture;
  const { source, target } = run.edges;
  const shown: number[] = [];
  const first = picture.timed ? 0 : lowerBound(target, picture.begin);
  for (let edge = first; edge < target.length; edge++) {
    const to = run.placeOf(target[edge], picture.timed);
    const from = run.placeOf(source[edge], picture.timed);
    if (!picture.timed && target[edge] > picture.end && source[edge] > picture.end) break;
    if (to < picture.begin || from > picture.end) continue;
    shown.push(edge);
    if (shown.length > MOST_EDGES) return;
  }
  context.strokeStyle = paint.edge;
  context.fillStyle = paint.edge;
  context.lineWidth = 1.2;
  for (const edge of shown) drawEdge(context, picture, source[edge], target[edge]);
}

function drawEdge(context: CanvasRenderingContext2D, picture: Picture, source: number, target: number): void {
  const { run } = picture;
  const unit = (picture.width - LEFT) / (picture.end - picture.begin);
  const half = picture.timed ? 1.5 : Math.min(unit * 0.43, 20);
  const x1 = pixelOf(picture, run.placeOf(source, picture.timed)) + half;
  const x2 = pixelOf(picture, run.placeOf(target, picture.timed)) + half;
  const down = rowOf(picture, run.lane[target]) > rowOf(picture, run.lane[source]);
  const y1 = rowOf(picture, run.lane[source]) + (down ? BOX / 2 : -BOX / 2);
  const y2 = rowOf(picture, run.lane[target]) + (down ? -BOX / 2 : BOX / 2);
  if (Number.isNaN(y1) || Number.isNaN(y2)) return;
  const bend = (y2 - y1) * 0.45;
  context.beginPath();
  context.moveTo(x1, y1);
  context.bezierCurveTo(x1, y1 + bend, x2, y2 - bend, x2, y2);
  context.stroke();
  const tip = down ? -6 : 6;
  context.beginPath();
  context.moveTo(x2, y2);
  context.lineTo(x2 - 3.5, y2 + tip);
  context.lineTo(x2 + 3.5, y2 + tip);
  context.fill();
}

function drawSelected(context: CanvasRenderingContext2D, paint: Colours, picture: Picture): void {
  const { run, selected } = picture;
  if (selected < 0 || selected >= run.length) return;
  const y = rowOf(picture, run.lane[selected]);
  const x = pixelOf(picture, run.placeOf(selected, picture.timed));
  context.strokeStyle = paint.focus;
  context.fillStyle = paint.focus;
  context.lineWidth = 2;
  for (const edge of run.edgesAt(selected)) drawEdge(context, picture, run.edges.source[edge], run.edges.target[edge]);
  context.globalAlpha = 0.5;
  context.fillRect(x, AXIS, 1, heightOf(picture));
  context.globalAlpha = 1;
  const unit = (picture.width - LEFT) / (picture.end - picture.begin);
  if (!Number.isNaN(y)) context.strokeRect(x - 2, y - BOX / 2 - 3, Math.max(6, picture.timed ? 6 : Math.min(unit * 0.86, 160) + 4), BOX + 6);
}

function drawMarks(context: CanvasRenderingContext2D, paint: Colours, picture: Picture): void {
  context.fillStyle = paint.error;
  for (const mark of picture.marks) {
    const x = pixelOf(picture, picture.run.placeOf(mark.operation, picture.timed));
    context.beginPath();
    context.moveTo(x - 5, 20);
    context.lineTo(x + 5, 20);
    context.lineTo(x, 30);
    context.fill();
    const y = rowOf(picture, picture.run.lane[mark.operation]);
    context.globalAlpha = 0.6;
    if (!Number.isNaN(y)) context.fillRect(x - 0.5, 30, 1, y - BOX / 2 - 30);
    context.globalAlpha = 1;
  }
}

function drawNames(context: CanvasRenderingContext2D, paint: Colours, picture: Picture): void {
  context.fillStyle = paint.surface;
  context.fillRect(0, 0, LEFT - 1, heightOf(picture));
  context.font = "12px system-ui, sans-serif";
  context.textBaseline = "middle";
  context.textAlign = "left";
  picture.lanes.forEach((lane, row) => {
    const [kind, name, process, rank] = picture.run.data.lanes[lane];
    const several = new Set(picture.run.data.lanes.map((each) => each[2])).size > 1;
    const whose = rank >= 0 ? `rank ${rank}: ` : several ? `process ${process}: ` : "";
    const text = whose + name.replace(/`/g, "");
    context.fillStyle = kind === "host" ? paint.muted : paint.text;
    context.fillText(text.length > 29 ? `${text.slice(0, 28)}\u2026` : text, 10, AXIS + row * ROW + ROW / 2);
  });
}

/** What lies under a pixel: the nearest operation of the lane there, -1: none; and how many share its column. */
export function underPixel(picture: Picture, x: number, y: number): { operation: number; crowd: number; lane: number } {
  const lane = picture.lanes[Math.floor((y - AXIS) / ROW)] ?? -1;
  if (lane < 0 || x < LEFT || y < AXIS) return { operation: -1, crowd: 0, lane };
  const column = picture.columns[lane];
  const unit = (picture.end - picture.begin) / (picture.width - LEFT);
  const place = placeAt(picture, x);
  const crowd = lowerBound(column.places, place + unit * 0.5) - lowerBound(column.places, place - unit * 0.5);
  // An operation reaches to the right of where it begins.
  const before = lowerBound(column.places, place + 1e-9) - 1;
  const at = before >= 0 && place - column.places[before] < (picture.timed ? 0 : 1) ? before : nearest(column.places, place);
  if (at < 0 || Math.abs(pixelOf(picture, column.places[at]) - x) > Math.max(8, 1 / unit)) return { operation: -1, crowd, lane };
  return { operation: column.operations[at], crowd, lane };
}
