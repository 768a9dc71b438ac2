// One run with its columns unpacked, and operations sorted by lane: what the canvas draws from.
import { lowerBound } from "./search.ts";
import type { CallRow, LaneRow, Numbers, RunData } from "./report.ts";
import { unpack } from "./report.ts";

export type Category = "work" | "copy" | "alloc" | "free" | "wait" | "other";
export const CATEGORIES: Category[] = ["work", "copy", "alloc", "free", "wait", "other"];

const CATEGORY_OF: Record<string, Category> = {
  launch: "work",
  graph_launch: "work",
  host_function: "work",
  graph_node: "work",
  copy: "copy",
  memset: "copy",
  prefetch: "copy",
  stream_memory_op: "copy",
  alloc: "alloc",
  free: "free",
  event_record: "wait",
  stream_wait_event: "wait",
  event_synchronize: "wait",
  stream_synchronize: "wait",
  context_synchronize: "wait",
  queue_marker: "wait",
};

export function categoryOf(kind: string): Category {
  return CATEGORY_OF[kind] ?? "other";
}

/** Operations of one lane in the order of their places, and the same by category. */
export interface LaneColumn {
  operations: Uint32Array;
  /** places of `operations` on the scale that is shown */
  places: Float64Array;
  byCategory: { category: Category; places: Float64Array }[];
}

export class Run {
  constructor(
    readonly data: RunData,
    readonly lane: Numbers,
    readonly issuer: Numbers,
    readonly call: Numbers,
    readonly failed: Set<number>,
    /** in ns since the first; null where the run has no times */
    readonly time: Float64Array | null,
    readonly duration: Numbers | null,
    readonly memory: { begin: Numbers; end: Numbers; size: Numbers; kind: Numbers; pool: Numbers },
    readonly edges: { source: Numbers; target: Numbers; reason: Numbers },
  ) {}

  static async of(data: RunData): Promise<Run> {
    const { memory, edges } = data;
    const [lane, issuer, call, failed, begin, end, size, kind, pool, source, target, reason] = await Promise.all(
      [data.lane, data.issuer, data.call, data.failed, memory.begin, memory.end, memory.size, memory.kind, memory.pool, edges.source, edges.target, edges.reason].map(unpack),
    );
    let time: Float64Array | null = null;
    if (data.time) {
      const units = await unpack(data.time);
      time = Float64Array.from(units, (each) => each * data.unit);
    }
    const duration = data.duration ? await unpack(data.duration) : null;
    return new Run(data, lane, issuer, call, new Set(failed), time, duration, { begin, end, size, kind, pool }, { source, target, reason });
  }

  get length(): number {
    return this.lane.length;
  }

  callOf(operation: number): CallRow {
    return this.data.calls[this.call[operation]];
  }

  laneOf(operation: number): LaneRow {
    return this.data.lanes[this.lane[operation]];
  }

  /** Where an operation stands: its number, or its time. */
  placeOf(operation: number, timed: boolean): number {
    return timed && this.time ? this.time[operation] : operation;
  }

  extent(timed: boolean): number {
    if (!timed || !this.time) return Math.max(1, this.length);
    let last = 1;
    for (let i = 0; i < this.length; i++) last = Math.max(last, this.time[i] + (this.duration ? this.duration[i] : 0));
    return last;
  }

  /** The lanes' operations by place. One pass, and a sort of each lane where times are not in the order of issue. */
  columns(timed: boolean): LaneColumn[] {
    const lanes = this.data.lanes.length;
    const categories = this.data.calls.map((call) => CATEGORIES.indexOf(categoryOf(call[0])));
    const counts = new Uint32Array(lanes);
    for (let i = 0; i < this.length; i++) counts[this.lane[i]]++;
    const rows = Array.from(counts, (count) => new Uint32Array(count));
    counts.fill(0);
    for (let i = 0; i < this.length; i++) rows[this.lane[i]][counts[this.lane[i]]++] = i;
    return rows.map((operations) => {
      const place = (operation: number) => this.placeOf(operation, timed);
      if (timed && this.time && !ascends(operations, place)) operations.sort((a, b) => place(a) - place(b));
      const places = Float64Array.from(operations, place);
      const byCategory = CATEGORIES.map((category, number) => ({
        category,
        places: places.filter((_, i) => categories[this.call[operations[i]]] === number),
      })).filter((each) => each.places.length);
      return { operations, places, byCategory };
    });
  }

  /** Edges that lead to an operation, or come from it. */
  edgesAt(operation: number): number[] {
    const { source, target } = this.edges;
    const found: number[] = [];
    for (let i = lowerBound(target, operation); i < target.length && target[i] === operation; i++) found.push(i);
    for (let i = 0; i < source.length; i++) if (source[i] === operation) found.push(i);
    return found;
  }
}

function ascends(operations: Uint32Array, place: (operation: number) => number): boolean {
  for (let i = 1; i < operations.length; i++) if (place(operations[i]) < place(operations[i - 1])) return false;
  return true;
}
