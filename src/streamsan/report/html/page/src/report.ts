// What Python put into the page, and how it is unpacked.

export interface Packed {
  at: number;
  type: "Uint8" | "Uint16" | "Uint32" | "Int32" | "Float32" | "Float64";
  length: number;
  differences: boolean;
}

export type Numbers = Uint8Array | Uint16Array | Uint32Array | Int32Array | Float32Array | Float64Array;

export type Severity = "error" | "warning" | "note";
/** kind, name, process, rank */
export type LaneRow = [string, string, number, number];
/** kind, name, file, line, function, memory */
export type CallRow = [string, string, string, number, string, string];

export interface SceneOperation {
  lane: number;
  issuer: number;
  number: number;
  place: number;
  kind: string;
  name: string;
  file: string;
  line: number;
  role: string;
  says: string;
  access: string;
  left_out: number;
}

export interface Scene {
  lanes: [string, string][];
  operations: SceneOperation[];
  /** source, target, reason, strength */
  edges: [number, number, string, "promised" | "missing" | "wrong"][];
  /** name, begin, end, uses, whether the finding is about it */
  bars: [string, number, number, number[], boolean][];
  /** text, act, number of the operation */
  moves: [string, "issued" | "done" | "outcome", number][];
  run: string;
}

export interface SourcePart {
  file: string;
  /** number, text, what the finding says of it */
  rows: [number, string, string][];
}

export interface Finding {
  code: string;
  name: string;
  severity: Severity;
  confidence: "proven" | "possible";
  headline: string;
  shown: boolean;
  location: { file: string; line: number; column: number; function: string };
  related: { role: string; file: string; line: number; message: string }[];
  overlap_words: string;
  contract: { text: string; source: string } | null;
  observed: { text: string; fact: string; on: string } | null;
  witness: string[];
  no_witness: string;
  fix: { summary: string; verified: boolean } | null;
  no_fix: string;
  more_at_site: number;
  properties: Record<string, number | string>;
  source: SourcePart[];
  /** lines of a patch */
  diff: string[];
  scene: Scene | null;
  /** why it has none though others have; "" where there is nothing to say */
  no_scene: string;
}

export interface Wait {
  call: number;
  count: number;
  first: number;
  ns: number;
  adds: boolean | null;
  /** ns: by how much the run would have been shorter without it, and how far off that may be */
  saves: [number, number] | null;
  findings: number[];
}

export interface RunData {
  title: string;
  platform: string;
  origin: string;
  operations: number;
  timed: boolean;
  notes: string[];
  lanes: LaneRow[];
  calls: CallRow[];
  lane: Packed;
  issuer: Packed;
  call: Packed;
  failed: Packed;
  unit: number;
  time?: Packed;
  duration?: Packed;
  memory: {
    begin: Packed;
    end: Packed;
    size: Packed;
    kind: Packed;
    pool: Packed;
    pools: string[];
    kinds: Record<string, string>;
    overlays: number[];
  };
  edges: { source: Packed; target: Packed; reason: Packed; reasons: string[] };
  /** ns: how long the run took, what it would have been shorter by without all that can go, how far off that may be */
  costs: [number, number, number] | null;
  waits: Wait[];
}

export interface Report {
  tool: string;
  summary: string;
  counts: Record<Severity, number>;
  files: number;
  operations: number;
  problems: string[];
  remarks: string[];
  findings: Finding[];
  runs: RunData[];
}

export function readReport(): Report {
  return JSON.parse(document.getElementById("report")!.textContent!) as Report;
}

const TYPES = { Uint8: Uint8Array, Uint16: Uint16Array, Uint32: Uint32Array, Int32: Int32Array, Float32: Float32Array, Float64: Float64Array };

/** Unpacks one column: base64, gzip, little-endian numbers, differences added up again. */
export async function unpack(packed: Packed): Promise<Numbers> {
  const text = document.getElementById(`array-${packed.at}`)!.textContent!;
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const numbers = new TYPES[packed.type](await new Response(stream).arrayBuffer()) as Numbers;
  if (packed.differences) addUp(numbers);
  return numbers;
}

/** Turns differences into what they are differences of. Typed arrays wrap as the packer's subtraction did. */
export function addUp(numbers: Numbers): void {
  for (let i = 1; i < numbers.length; i++) numbers[i] += numbers[i - 1];
}
