// What all canvases share: colours of the theme, sharp pixels, and the axis.
import { scaleLinear } from "d3-scale";
import { duration } from "./words.ts";

const NAMES = {
  surface: "--surface",
  text: "--text",
  muted: "--muted",
  line: "--line",
  grid: "--grid",
  edge: "--edge",
  focus: "--focus",
  match: "--match",
  error: "--error",
  onColour: "--on-colour",
  work: "--work",
  copy: "--copy",
  alloc: "--alloc",
  free: "--free",
  wait: "--wait",
  other: "--other",
} as const;

export type Colours = Record<keyof typeof NAMES, string>;

/** The colours of the page's theme, as its style sheet has them. */
export function colours(element: Element): Colours {
  const style = getComputedStyle(element);
  return Object.fromEntries(Object.entries(NAMES).map(([name, variable]) => [name, style.getPropertyValue(variable).trim()])) as Colours;
}

/** A colour of the style sheet (#rrggbb) as a pixel of an image. */
export function pixelOfColour(colour: string): number {
  const value = parseInt(colour.slice(1), 16);
  return (0xff000000 | ((value & 0xff) << 16) | (value & 0xff00) | (value >> 16)) >>> 0;
}

/** Makes a canvas of this size sharp on its screen, and gives what draws on it. */
export function prepared(canvas: HTMLCanvasElement, width: number, height: number): CanvasRenderingContext2D {
  const ratio = devicePixelRatio || 1;
  const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== w || canvas.height !== h) {
    canvas.width = w;
    canvas.height = h;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }
  const context = canvas.getContext("2d")!;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return context;
}

export interface Axis {
  begin: number;
  end: number;
  left: number;
  width: number;
  height: number;
  /** places are ns; else numbers of operations */
  timed: boolean;
}

export function axisOf(context: CanvasRenderingContext2D, paint: Colours, axis: Axis): void {
  const scale = scaleLinear([axis.begin, axis.end], [axis.left, axis.width]);
  context.font = "11px system-ui, sans-serif";
  context.textBaseline = "middle";
  context.textAlign = "left";
  context.lineWidth = 1;
  for (const tick of scale.ticks(Math.max(2, Math.floor((axis.width - axis.left) / 110)))) {
    if (!axis.timed && !Number.isInteger(tick)) continue;
    const x = Math.round(scale(tick)) + 0.5;
    context.strokeStyle = paint.grid;
    context.beginPath();
    context.moveTo(x, 16);
    context.lineTo(x, axis.height);
    context.stroke();
    context.fillStyle = paint.muted;
    context.fillText(axis.timed ? duration(tick) : tick.toLocaleString("en"), x + 3, 10);
  }
}
