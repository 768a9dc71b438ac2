// Memory over time: allocations, or the blocks that pools cut from them, by kind, by pool or by call site.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { axisOf, colours, prepared } from "./canvas.ts";
import { eventsOf, peaks } from "./memory_series.ts";
import type { Run } from "./run.ts";
import { bytes, count } from "./words.ts";
import { useTheme, useWidth, useZoom } from "./zoom.ts";

const LEFT = 78;
const HEIGHT = 360;
const TOP = 26;
/** groups with a colour of their own; the rest are one */
const MOST_GROUPS = 10;
const REST = "all others";

type Layer = "allocations" | "blocks";
type Grouping = "kind" | "pool" | "site";

interface Groups {
  names: string[];
  /** by bar; -1: not drawn */
  of: Int16Array;
  highest: number[];
}

export function MemoryView({ run }: { run: Run }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const frame = useRef<HTMLDivElement>(null);
  const width = useWidth(frame);
  const theme = useTheme();
  const hasBlocks = useMemo(() => layered(run, "blocks").length > 0, [run]);
  const hasOther = useMemo(() => layered(run, "allocations").length > 0, [run]);
  const [layer, setLayer] = useState<Layer>(hasOther || !hasBlocks ? "allocations" : "blocks");
  const [by, setBy] = useState<Grouping>("kind");
  const [timed, setTimed] = useState(false);
  const [pointed, setPointed] = useState(-1);
  const extent = useMemo(() => run.extent(timed), [run, timed]);
  const groups = useMemo(() => groupsOf(run, layer, by), [run, layer, by]);
  const events = useMemo(() => {
    const { begin, end, size } = run.memory;
    return eventsOf(begin, end, size, (operation) => run.placeOf(operation, timed), (bar) => groups.of[bar]);
  }, [run, timed, groups]);
  const zoom = useZoom(canvas, extent, width, LEFT, timed ? Math.min(2000, extent) : Math.min(8, extent));
  const columns = Math.max(1, width - LEFT);
  const series = useMemo(
    () => peaks(events, groups.names.length, zoom.begin, Math.max(zoom.end, zoom.begin + 1e-6), columns),
    [events, groups, zoom.begin, zoom.end, columns],
  );
  const top = useMemo(() => highest(series, groups.names.length), [series, groups]);

  useEffect(() => {
    if (!canvas.current || width <= LEFT) return;
    const draw = requestAnimationFrame(() => {
      const context = prepared(canvas.current!, width, HEIGHT);
      const paint = colours(canvas.current!);
      context.fillStyle = paint.surface;
      context.fillRect(0, 0, width, HEIGHT);
      axisOf(context, paint, { begin: zoom.begin, end: zoom.end, left: LEFT, width, height: HEIGHT, timed });
      const scale = (HEIGHT - TOP - 4) / Math.max(1, top);
      const swatches = swatchesOf(canvas.current!);
      for (let column = 0; column < columns; column++) {
        let y = HEIGHT - 1;
        for (let group = 0; group < groups.names.length; group++) {
          const height = series[column * groups.names.length + group] * scale;
          if (height <= 0) continue;
          context.fillStyle = swatches[group % swatches.length];
          context.fillRect(LEFT + column, y - height, 1, height + 0.5);
          y -= height;
        }
      }
      context.fillStyle = paint.muted;
      context.font = "11px system-ui, sans-serif";
      context.textAlign = "right";
      for (let part = 0; part <= 4; part++) {
        const y = HEIGHT - 1 - ((HEIGHT - TOP - 4) * part) / 4;
        context.fillText(bytes((top * part) / 4), LEFT - 8, Math.max(TOP, y - 2));
        context.fillStyle = paint.grid;
        context.fillRect(LEFT, y, width - LEFT, 1);
        context.fillStyle = paint.muted;
      }
      if (pointed >= 0) {
        context.fillStyle = paint.focus;
        context.fillRect(LEFT + pointed, TOP - 8, 1, HEIGHT);
      }
    });
    return () => cancelAnimationFrame(draw);
  }, [width, series, top, pointed, theme, timed, zoom.begin, zoom.end]);

  if (!hasBlocks && !hasOther) return <p class="empty">This run allocates nothing that is drawn.</p>;
  const shownAt = pointed >= 0 && pointed < columns ? pointed : -1;
  return (
    <div class="memory" onKeyDown={zoom.onKey}>
      <div class="toolbar">
        <div class="group" role="group" aria-label="What is counted">
          <button type="button" aria-pressed={layer === "allocations"} disabled={!hasOther} onClick={() => setLayer("allocations")}>
            Allocations
          </button>
          <button type="button" aria-pressed={layer === "blocks"} disabled={!hasBlocks} onClick={() => setLayer("blocks")}>
            Blocks of pools
          </button>
        </div>
        <div class="group" role="group" aria-label="Grouped by">
          {(["kind", "pool", "site"] as const).map((each) => (
            <button key={each} type="button" aria-pressed={by === each} onClick={() => setBy(each)}>
              By {each === "site" ? "call site" : each}
            </button>
          ))}
        </div>
        {run.time && (
          <div class="group" role="group" aria-label="Scale">
            <button type="button" aria-pressed={!timed} onClick={() => setTimed(false)}>
              By order
            </button>
            <button type="button" aria-pressed={timed} onClick={() => setTimed(true)}>
              By time
            </button>
          </div>
        )}
        <button type="button" onClick={zoom.fit}>
          Whole run
        </button>
      </div>
      <div class="frame" ref={frame}>
        <canvas
          ref={canvas}
          tabIndex={0}
          role="img"
          aria-label={`Memory over the run, at most ${bytes(top)} here. The table below has the peaks.`}
          onPointerMove={(event) => setPointed(Math.floor(event.offsetX - LEFT))}
          onPointerLeave={() => setPointed(-1)}
        />
      </div>
      <table class="groups">
        <caption>
          {layer === "blocks" ? "Blocks that pools hand out; they lie in allocations." : "Allocations. Registered and mapped memory, which lies over other memory, and blocks of pools are not counted."} {count(groups.of.filter((each) => each >= 0).length, "allocation")}.
        </caption>
        <thead>
          <tr>
            <th scope="col">{by === "site" ? "Call site" : by === "pool" ? "Pool" : "Kind"}</th>
            <th scope="col" class="number">{shownAt >= 0 ? "Here" : "At the peak of what is shown"}</th>
          </tr>
        </thead>
        <tbody>
          {groups.names.map((name, group) => (
            <tr key={name}>
              <th scope="row">
                <i class={`swatch s${group % MOST_GROUPS}`} />
                {name}
              </th>
              <td class="number">{bytes(valueAt(series, groups.names.length, group, shownAt))}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function layered(run: Run, layer: Layer): number[] {
  const overlays = new Set(run.data.memory.overlays);
  const block = Number(Object.entries(run.data.memory.kinds).find(([, name]) => name === "pool-block")?.[0] ?? -1);
  const found: number[] = [];
  for (let bar = 0; bar < run.memory.kind.length; bar++) {
    const kind = run.memory.kind[bar];
    const host = ["host-heap", "host-stack", "host-static"].includes(run.data.memory.kinds[kind]);
    if (layer === "blocks" ? kind === block : !overlays.has(kind) && !host) found.push(bar);
  }
  return found;
}

function groupsOf(run: Run, layer: Layer, by: Grouping): Groups {
  const bars = layered(run, layer);
  const nameOf = (bar: number): string => {
    if (by === "kind") return run.data.memory.kinds[run.memory.kind[bar]] ?? "unknown";
    if (by === "pool") return run.data.memory.pools[run.memory.pool[bar]];
    const [, name, file, line, , memory] = run.data.calls[run.call[run.memory.begin[bar]]];
    return `${memory ? `${memory}: ` : ""}${name}${line ? ` at ${file}:${line}` : ""}`;
  };
  const sums = new Map<string, number>();
  const names = bars.map((bar) => {
    const name = nameOf(bar);
    sums.set(name, (sums.get(name) ?? 0) + run.memory.size[bar]);
    return name;
  });
  const largest = [...sums].sort((a, b) => b[1] - a[1]).map(([name]) => name);
  const kept = largest.length > MOST_GROUPS ? [...largest.slice(0, MOST_GROUPS - 1), REST] : largest;
  const numbers = new Map(kept.map((name, number) => [name, number]));
  const of = new Int16Array(run.memory.begin.length).fill(-1);
  bars.forEach((bar, at) => (of[bar] = numbers.get(names[at]) ?? kept.length - 1));
  return { names: kept, of, highest: [] };
}

function highest(series: Float64Array, groups: number): number {
  let top = 0;
  for (let at = 0; at < series.length; at += groups) {
    let sum = 0;
    for (let group = 0; group < groups; group++) sum += series[at + group];
    top = Math.max(top, sum);
  }
  return top;
}

function valueAt(series: Float64Array, groups: number, group: number, column: number): number {
  if (column >= 0) return series[column * groups + group] ?? 0;
  let best = 0;
  let top = -1;
  for (let at = 0; at < series.length; at += groups) {
    let sum = 0;
    for (let each = 0; each < groups; each++) sum += series[at + each];
    if (sum > top) {
      top = sum;
      best = series[at + group];
    }
  }
  return best;
}

function swatchesOf(element: Element): string[] {
  const style = getComputedStyle(element);
  return Array.from({ length: MOST_GROUPS }, (_, number) => style.getPropertyValue(`--s${number}`).trim());
}
