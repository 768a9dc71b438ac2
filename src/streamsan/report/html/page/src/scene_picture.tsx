// The time around a finding: lanes, operations, who waits for whom, the edge that is missing, and the memory.
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { Scene, SceneOperation } from "./report.ts";
import { BOX_HEIGHT, type Box, LANE_HEIGHT, type Layout, arrowOf, cut, layoutOf, sideArrowOf } from "./scene_layout.ts";

interface Props {
  scene: Scene;
  /** 0: the whole picture; n: after the n-th step of the witness */
  step: number;
  /** the operation that is pointed at or selected; -1: none */
  focus: number;
  setFocus: (operation: number) => void;
  printed: boolean;
}

type State = "" | "pending" | "done" | "now" | "dim";

export function ScenePicture({ scene, step, focus, setFocus, printed }: Props) {
  const layout = useMemo(() => layoutOf(scene), [scene]);
  const states = useMemo(() => statesOf(scene, step), [scene, step]);
  const frame = useRef<HTMLDivElement>(null);
  const names = useRef<SVGGElement>(null);
  const scrolled = () => names.current?.setAttribute("transform", `translate(${frame.current?.scrollLeft ?? 0},0)`);
  // What the finding turns on is in sight, at first and at each step.
  useEffect(() => {
    const box = frame.current;
    if (!box || printed) return;
    const number = step ? scene.moves[step - 1][2] : 0;
    const wanted = scene.edges.filter((edge) => edge[3] !== "promised").flatMap(([source, target]) => [source, target]);
    const boxes = (number ? scene.operations.map((_, at) => at).filter((at) => scene.operations[at].number === number) : wanted).map((at) => layout.boxes[at]);
    if (!boxes.length) return;
    const low = Math.min(...boxes.map((each) => each.x)) - layout.left - 16;
    const high = Math.max(...boxes.map((each) => each.x + each.width)) + 24;
    if (low < box.scrollLeft) box.scrollLeft = low;
    else if (high > box.scrollLeft + box.clientWidth) box.scrollLeft = Math.min(low, high - box.clientWidth);
  }, [scene, layout, step, printed]);
  const onKey = (event: KeyboardEvent) => {
    const moves: Record<string, number> = { ArrowRight: focus + 1, ArrowLeft: focus < 0 ? scene.operations.length - 1 : focus - 1 };
    if (event.key === "Escape") setFocus(-1);
    if (!(event.key in moves)) return;
    event.preventDefault();
    setFocus(Math.max(0, Math.min(scene.operations.length - 1, moves[event.key])));
  };
  const pointed = focus >= 0 ? scene.operations[focus] : null;
  return (
    <figure class="scene">
      <div class="scene-scroll" ref={frame} onScroll={scrolled} tabIndex={printed ? -1 : 0} onKeyDown={onKey} role="group" aria-label="Lanes around the finding; arrow keys go from operation to operation">
        <svg viewBox={printed ? `0 0 ${layout.width} ${layout.height}` : undefined} style={printed ? undefined : { width: "100%", minWidth: `${layout.width}px` }} height={layout.height} role="img" aria-label={described(scene)}>
          <defs>
            {["promised", "missing", "wrong"].map((each) => (
              <marker key={each} id={`head-${each}`} class={`head ${each}`} viewBox="0 0 10 10" refX="8" refY="5" markerWidth="7" markerHeight="7" orient="auto-start-reverse">
                <path d="M0 0 10 5 0 10z" />
              </marker>
            ))}
            <pattern id="hatch" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
              <path d="M0 0v7" class="hatch" />
            </pattern>
          </defs>
          <Lanes scene={scene} layout={layout} />
          <Memory scene={scene} layout={layout} step={step} />
          {layout.boxes.map((box, number) => !Number.isNaN(box.issuerY) && <Issue key={number} box={box} />)}
          {scene.edges.map(([source, target, reason, strength], number) => {
            if (strength !== "promised") return null;
            const near = focus === source || focus === target;
            return <Edge key={number} from={layout.boxes[source]} to={layout.boxes[target]} reason={reason} strength={strength} labelled={near} dim={step > 0} />;
          })}
          {scene.operations.map((operation, number) => (
            <Operation
              key={number}
              operation={operation}
              box={layout.boxes[number]}
              state={states[number]}
              focused={number === focus}
              point={() => setFocus(number)}
              leave={() => setFocus(-1)}
            />
          ))}
          {scene.edges.map(
            ([source, target, reason, strength], number) =>
              strength !== "promised" && (
                <Edge key={number} from={layout.boxes[source]} to={layout.boxes[target]} reason={reason} strength={strength} labelled dim={false} />
              ),
          )}
          <g ref={names}>
            <Names scene={scene} layout={layout} />
          </g>
        </svg>
      </div>
      <figcaption role="status">
        {pointed ? <Said operation={pointed} lane={scene.lanes[pointed.lane][1]} /> : <Legend scene={scene} />}
      </figcaption>
    </figure>
  );
}

function Lanes({ scene, layout }: { scene: Scene; layout: Layout }) {
  return (
    <>
      {layout.laneY.map((y, number) => (
        <g key={number} class={`lane ${scene.lanes[number][0]}`}>
          <rect x="0" y={y - LANE_HEIGHT / 2} width="100%" height={LANE_HEIGHT} class={number % 2 ? "stripe odd" : "stripe"} />
          <line x1={layout.left} x2="100%" y1={y} y2={y} />
        </g>
      ))}
      {layout.gaps.map((gap, number) => (
        <g key={number} class="gap">
          <line x1={gap.x} x2={gap.x} y1="22" y2={layout.laneY[layout.laneY.length - 1] + 26} />
          <text x={gap.x} y="16">
            {gap.count.toLocaleString("en")} more
            <title>{gap.count} operations of the run are left out here</title>
          </text>
        </g>
      ))}
    </>
  );
}

/** The names of lanes and memory, which stay where they are when the picture is scrolled. */
function Names({ scene, layout }: { scene: Scene; layout: Layout }) {
  return (
    <>
      <rect x="0" y="0" width={layout.left - 4} height={layout.laneY[0] - LANE_HEIGHT / 2} class="stripe" />
      {layout.laneY.map((y, number) => (
        <g key={number} class={`lane-name ${scene.lanes[number][0]}`}>
          <rect x="0" y={y - LANE_HEIGHT / 2} width={layout.left - 4} height={LANE_HEIGHT} class={number % 2 ? "stripe odd" : "stripe"} />
          <text x="12" y={y + 4}>
            {layout.laneNames[number]}
            <title>{scene.lanes[number][1]}</title>
          </text>
        </g>
      ))}
      {scene.bars.map(([name, , , , own], number) => (
        <g key={number} class={`bar-name${own ? " own" : ""}`}>
          <rect x="0" y={layout.barY[number] - 4} width={layout.left - 4} height="30" class="stripe" />
          <text x="12" y={layout.barY[number] + 15}>
            {cut(name, 20)}
            <title>memory: {name}</title>
          </text>
        </g>
      ))}
    </>
  );
}

function Issue({ box }: { box: Box }) {
  const x = box.x + 8;
  const down = box.y > box.issuerY;
  return (
    <g class="issue">
      <line x1={x} x2={x} y1={box.issuerY} y2={down ? box.y : box.y + BOX_HEIGHT} />
      <circle cx={x} cy={box.issuerY} r="2.5" />
    </g>
  );
}

function Operation({ operation, box, state, focused, point, leave }: { operation: SceneOperation; box: Box; state: State; focused: boolean; point: () => void; leave: () => void }) {
  const classes = ["operation", box.category, box.named ? "named" : "", operation.role === "reported" ? "reported" : "", state, focused ? "focused" : ""].join(" ");
  return (
    <g class={classes} onPointerEnter={point} onPointerLeave={leave} onClick={point} data-operation={operation.number}>
      <rect x={box.x} y={box.y} width={box.width} height={BOX_HEIGHT} rx={box.category === "wait" ? BOX_HEIGHT / 2 : 5} />
      {box.label ? (
        <text x={box.x + box.width / 2} y={box.y + BOX_HEIGHT / 2 + 4}>
          {box.label}
        </text>
      ) : (
        <text x={box.x + box.width / 2} y={box.y + BOX_HEIGHT / 2 + 4} class="glyph">
          {GLYPHS[operation.kind] ?? "\u00b7"}
        </text>
      )}
      {box.named && operation.line > 0 && (
        <text x={box.x + box.width / 2} y={box.y + BOX_HEIGHT + 13} class="line">
          {operation.access ? `${operation.access} \u00b7 ` : ""}line {operation.line}
        </text>
      )}
    </g>
  );
}

const GLYPHS: Record<string, string> = {
  launch: "K",
  copy: "C",
  memset: "M",
  alloc: "+",
  free: "\u2212",
  event_record: "R",
  stream_wait_event: "W",
  event_synchronize: "W",
  stream_synchronize: "W",
  context_synchronize: "W",
  graph_launch: "G",
  host_function: "H",
  host_access: "H",
  host_release: "\u2197",
  host_acquire: "\u2198",
};

function Edge({ from, to, reason, strength, labelled, dim }: { from: Box; to: Box; reason: string; strength: string; labelled: boolean; dim: boolean }) {
  const arrow = strength === "promised" ? arrowOf(from, to) : sideArrowOf(from, to);
  const width = reason.length * 6.9 + 20;
  return (
    <g class={`edge ${strength}${dim ? " dim" : ""}`}>
      <path d={arrow.path} marker-end={`url(#head-${strength})`}>
        <title>{reason}</title>
      </path>
      {labelled && (
        <g class="edge-label">
          <rect x={arrow.x - width / 2} y={arrow.y - 10} width={width} height="20" rx="10" />
          <text x={arrow.x} y={arrow.y + 4}>
            {reason}
          </text>
        </g>
      )}
    </g>
  );
}

function Memory({ scene, layout, step }: { scene: Scene; layout: Layout; step: number }) {
  const freed = scene.moves.slice(0, step).some((move, number) => move[1] === "done" && isFree(scene, scene.moves[number][2]));
  // Whose it is then, the step after the free says.
  const taken = freed && scene.moves.slice(0, step).some((move) => move[1] === "outcome");
  return (
    <>
      {scene.bars.map(([, , , uses, own], number) => {
        const y = layout.barY[number];
        const bar = layout.bars[number];
        return (
          <g key={number} class={`bar${own ? " own" : ""}`}>
            <rect x={bar.x1} y={y + 3} width={Math.max(4, bar.x2 - bar.x1)} height="16" rx="4" />
            {own && bar.ends && <rect x={bar.x2} y={y + 3} width={Math.max(0, layout.width - bar.x2)} height="16" rx="4" class={freed ? "next-owner gone" : "next-owner"} />}
            {own && freed && (
              <text x={Math.min(bar.x2 + 8, layout.width - 90)} y={y + 15} class="owner">
                {taken ? "next owner" : "freed"}
              </text>
            )}
            {uses.map((use) => (
              <circle key={use} cx={layout.boxes[use].x + layout.boxes[use].width / 2} cy={y + 11} r="5" class="use">
                <title>used here</title>
              </circle>
            ))}
            {own &&
              uses.map((use) => (
                <line key={use} class="use-line" x1={layout.boxes[use].x + layout.boxes[use].width / 2} x2={layout.boxes[use].x + layout.boxes[use].width / 2} y1={layout.boxes[use].y + BOX_HEIGHT + 16} y2={y + 5} />
              ))}
          </g>
        );
      })}
    </>
  );
}

function Said({ operation, lane }: { operation: SceneOperation; lane: string }) {
  return (
    <>
      <strong>{operation.name}</strong> on {lane.replace(/`/g, "")}
      {operation.line > 0 && (
        <>
          , {operation.file}:{operation.line}
        </>
      )}
      {operation.says && <>: {operation.says.replace(/`/g, "")}</>}
    </>
  );
}

function Legend({ scene }: { scene: Scene }) {
  const strengths = new Set(scene.edges.map((edge) => edge[3]));
  return (
    <span class="legend">
      {strengths.has("promised") && (
        <span>
          <i class="line promised" /> comes before
        </span>
      )}
      {strengths.has("missing") && (
        <span>
          <i class="line missing" /> nothing orders these
        </span>
      )}
      {strengths.has("wrong") && (
        <span>
          <i class="line wrong" /> the wrong order
        </span>
      )}
      <span>
        <i class="line issued" /> issued by the host
      </span>
      <span>left to right: as the calls were made</span>
    </span>
  );
}

/** What each operation is at a step: what is to come, what has run, what happens now. */
function statesOf(scene: Scene, step: number): State[] {
  if (!step) return scene.operations.map(() => "");
  const states = new Map<number, State>();
  scene.moves.slice(0, step).forEach(([, act, number], at) => {
    if (!number) return;
    states.set(number, act === "issued" ? "pending" : at === step - 1 ? "now" : "done");
  });
  return scene.operations.map((each) => states.get(each.number) ?? "dim");
}

function isFree(scene: Scene, number: number): boolean {
  return scene.operations.some((each) => each.number === number && each.kind === "free");
}

/** The picture in words, for who does not see it. */
function described(scene: Scene): string {
  const named = scene.operations.filter((each) => each.role);
  const words = named.map((each) => `${each.name} on ${scene.lanes[each.lane][1]}${each.line ? `, line ${each.line}` : ""}`);
  const edges = scene.edges
    .filter((edge) => edge[3] !== "promised")
    .map(([source, target, reason]) => `between ${scene.operations[source].name} and ${scene.operations[target].name}: ${reason}`);
  return [...words, ...edges].join("; ").replace(/`/g, "");
}
