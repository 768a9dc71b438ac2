// The whole run: lanes on a canvas that is zoomed and panned, a search, and what is selected in words.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Goto, Mark } from "./app.tsx";
import { prepared } from "./canvas.ts";
import type { Report } from "./report.ts";
import type { LaneColumn, Run } from "./run.ts";
import { LEFT, type Picture, drawRun, heightOf, underPixel } from "./run_canvas.ts";
import { SelectedOperation } from "./selected_operation.tsx";
import { lowerBound } from "./search.ts";
import { count } from "./words.ts";
import { useTheme, useWidth, useZoom } from "./zoom.ts";

/** lanes that are drawn: of more the busiest */
const MOST_LANES = 200;

interface Props {
  run: Run;
  report: Report;
  marks: Mark[];
  selected: number;
  select: (operation: number) => void;
  goto: (place: Goto) => void;
}

export function RunView({ run, report, marks, selected, select, goto }: Props) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const frame = useRef<HTMLDivElement>(null);
  const width = useWidth(frame);
  useTheme();
  const [timed, setTimed] = useState(false);
  const [words, setWords] = useState("");
  const [tip, setTip] = useState<{ x: number; y: number; text: string } | null>(null);
  const extent = useMemo(() => run.extent(timed), [run, timed]);
  const columns = useMemo(() => run.columns(timed), [run, timed]);
  const lanes = useMemo(() => drawnLanes(columns), [columns]);
  const zoom = useZoom(canvas, extent, width, LEFT, timed ? Math.min(2000, extent) : Math.min(8, extent));
  const found = useMemo(() => matching(run, words), [run, words]);
  const matches = useMemo(() => found && matchesByLane(run, columns, found.calls), [run, columns, found]);
  const picture: Picture = { run, columns, lanes, timed, begin: zoom.begin, end: Math.max(zoom.end, zoom.begin + 1e-6), width, selected, matches, wanted: found && found.calls, marks };

  useEffect(() => {
    if (!canvas.current || width <= LEFT) return;
    const draw = requestAnimationFrame(() => drawRun(prepared(canvas.current!, width, heightOf(picture)), picture));
    return () => cancelAnimationFrame(draw);
  });
  // What is selected from elsewhere is brought into the picture.
  useEffect(() => {
    if (selected < 0 || width <= LEFT) return;
    const place = run.placeOf(selected, timed);
    const shown = zoom.end - zoom.begin;
    const near = timed ? extent / 50 : 60;
    if (place < zoom.begin || place > zoom.end || shown > near * 6) zoom.show(place + (timed ? 0 : 0.5), Math.min(shown, near));
  }, [selected, timed, width]);

  const at = (event: { offsetX: number; offsetY: number }) => underPixel(picture, event.offsetX, event.offsetY);
  const onMove = (event: PointerEvent) => {
    const { operation, crowd } = at(event);
    if (operation < 0) {
      setTip(null);
      return;
    }
    const call = run.callOf(operation);
    const place = call[3] ? ` ${call[2].split("/").pop()}:${call[3]}` : "";
    const text = crowd > 1 ? `${count(crowd, "operation")} here, one is ${call[1]}${place}` : `${call[1]}${place}`;
    setTip({ x: event.offsetX, y: event.offsetY, text });
  };
  const step = (by: number) => {
    if (!found?.first.length) return;
    const at = by > 0 ? lowerBound(found.first, selected + 1) : lowerBound(found.first, selected) - 1;
    select(found.first[(at + found.first.length) % found.first.length]);
  };
  return (
    <div class="run" onKeyDown={(event) => !(event.target instanceof HTMLInputElement) && zoom.onKey(event)}>
      <div class="toolbar">
        <div class="group" role="group" aria-label="Zoom">
          <button type="button" aria-label="Zoom in" onClick={() => zoom.zoomBy(2)}>
            +
          </button>
          <button type="button" aria-label="Zoom out" onClick={() => zoom.zoomBy(0.5)}>
            {"\u2212"}
          </button>
          <button type="button" onClick={zoom.fit}>
            Whole run
          </button>
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
        <input type="search" placeholder="Find: kernel, call, file" aria-label="Find operations" value={words} onInput={(event) => setWords(event.currentTarget.value)} onKeyDown={(event) => event.key === "Enter" && step(event.shiftKey ? -1 : 1)} />
        {found && (
          <div class="group">
            <span role="status" class="found">
              {found.first.length.toLocaleString("en")} found
            </span>
            <button type="button" aria-label="Previous match" disabled={!found.first.length} onClick={() => step(-1)}>
              {"\u2039"}
            </button>
            <button type="button" aria-label="Next match" disabled={!found.first.length} onClick={() => step(1)}>
              {"\u203a"}
            </button>
          </div>
        )}
        <span class="shown" data-begin={zoom.begin} data-end={zoom.end}>
          {timed ? "" : `${Math.floor(zoom.begin).toLocaleString("en")} to ${Math.ceil(zoom.end).toLocaleString("en")} of `}
          {count(run.length, "operation")}
        </span>
      </div>
      <Categories />
      <div class="frame" ref={frame}>
        <canvas
          ref={canvas}
          tabIndex={0}
          role="application"
          aria-label={`Lanes of the run, ${count(run.length, "operation")} on ${count(lanes.length, "lane")}. Plus and minus zoom, A and D pan, 0 shows all; Find and the buttons below go from operation to operation.`}
          onPointerMove={onMove}
          onPointerLeave={() => setTip(null)}
          onClick={(event) => {
            const { operation } = at(event);
            if (operation >= 0) select(operation);
          }}
          onDblClick={(event) => {
            const { operation } = at(event);
            if (operation >= 0) zoom.show(run.placeOf(operation, timed), (zoom.end - zoom.begin) / 8);
          }}
        />
        {tip && (
          <div class="tip" style={{ left: `${Math.min(tip.x + 12, width - 240)}px`, top: `${tip.y + 14}px` }}>
            {tip.text}
          </div>
        )}
      </div>
      <SelectedOperation run={run} columns={columns} operation={selected} select={select} report={report} marks={marks} goto={goto} />
      {columns.length > lanes.length && <p class="aside">{count(columns.length - lanes.length, "lane")} with the fewest operations are not drawn.</p>}
      {run.data.notes.map((note) => (
        <p class="aside" key={note}>
          {note}
        </p>
      ))}
      <p class="aside">Wheel zooms, drag pans, Shift and wheel scrolls; a click selects. Work stands where its call was made: when a kernel ran, the trace does not say.</p>
    </div>
  );
}

function Categories() {
  const names = { work: "kernels, graphs", copy: "copies, fills", alloc: "allocations", free: "frees", wait: "events, waits", other: "other" };
  return (
    <p class="categories">
      {Object.entries(names).map(([category, name]) => (
        <span key={category}>
          <i class={category} /> {name}
        </span>
      ))}
    </p>
  );
}

function drawnLanes(columns: LaneColumn[]): number[] {
  const all = columns.map((_, number) => number).filter((number) => columns[number].operations.length);
  if (all.length <= MOST_LANES) return all;
  const busiest = [...all].sort((a, b) => columns[b].operations.length - columns[a].operations.length).slice(0, MOST_LANES);
  return busiest.sort((a, b) => a - b);
}

/** Operations whose call has all the words, by number; and which calls these are. */
function matching(run: Run, words: string): { calls: boolean[]; first: Uint32Array } | null {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  if (!wanted.length) return null;
  const calls = run.data.calls.map((call) => {
    const text = [call[0].replace(/_/g, " "), call[1], call[2], call[4], call[5]].join("\n").toLowerCase();
    return wanted.every((word) => text.includes(word));
  });
  let total = 0;
  for (let i = 0; i < run.length; i++) if (calls[run.call[i]]) total++;
  const first = new Uint32Array(total);
  for (let i = 0, at = 0; i < run.length; i++) if (calls[run.call[i]]) first[at++] = i;
  return { calls, first };
}

function matchesByLane(run: Run, columns: LaneColumn[], calls: boolean[]): Float64Array[] {
  return columns.map(({ operations, places }) => places.filter((_, at) => calls[run.call[operations[at]]]));
}
