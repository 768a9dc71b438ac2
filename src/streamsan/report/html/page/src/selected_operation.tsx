// What is selected in the run, in words, and the ways from there: along its lane, over its edges, to its findings.
import type { Goto, Mark } from "./app.tsx";
import type { Report } from "./report.ts";
import type { LaneColumn, Run } from "./run.ts";
import { lowerBound } from "./search.ts";
import { duration } from "./words.ts";

interface Props {
  run: Run;
  columns: LaneColumn[];
  operation: number;
  select: (operation: number) => void;
  report: Report;
  marks: Mark[];
  goto: (place: Goto) => void;
}

export function SelectedOperation({ run, columns, operation, select, report, marks, goto }: Props) {
  if (operation < 0 || operation >= run.length) {
    return (
      <div class="selected" role="status">
        <p class="aside">Nothing is selected.</p>
        <MarkList marks={marks} report={report} goto={goto} select={select} />
      </div>
    );
  }
  const [kind, name, file, line, inFunction, memory] = run.callOf(operation);
  const { operations, places } = columns[run.lane[operation]];
  const at = position(operations, places, operation, run);
  const { source, target, reason } = run.edges;
  const edges = run.edgesAt(operation);
  return (
    <div class="selected" role="status">
      <p class="what">
        <button type="button" disabled={at <= 0} onClick={() => select(operations[at - 1])} aria-label="Previous on this lane">
          {"\u2039"}
        </button>
        <button type="button" disabled={at + 1 >= operations.length} onClick={() => select(operations[at + 1])} aria-label="Next on this lane">
          {"\u203a"}
        </button>
        <strong>{name}</strong>
        {memory && <code>{memory}</code>}
        <span class="kind">{kind.replace(/_/g, " ")}</span>
        <span>{run.laneOf(operation)[1].replace(/`/g, "")}</span>
      </p>
      <dl>
        <dt>Place</dt>
        <dd>
          {file}
          {line ? `:${line}` : ""} {inFunction && <span class="aside">in {inFunction}</span>}
        </dd>
        <dt>Number</dt>
        <dd>{operation.toLocaleString("en")}</dd>
        {run.time && (
          <>
            <dt>Called at</dt>
            <dd>
              {duration(run.time[operation])}
              {run.duration && run.duration[operation] > 0 && <>, took {duration(run.duration[operation])}</>}
            </dd>
          </>
        )}
        {run.failed.has(operation) && (
          <>
            <dt>Status</dt>
            <dd class="no">the call failed</dd>
          </>
        )}
        {edges.length > 0 && (
          <>
            <dt>Order</dt>
            <dd>
              {edges.slice(0, 12).map((edge) => {
                const incoming = target[edge] === operation;
                const other = incoming ? source[edge] : target[edge];
                return (
                  <button type="button" class="link" key={edge} onClick={() => select(other)}>
                    {incoming ? "after" : "before"} {run.callOf(other)[1]} on {run.laneOf(other)[1].replace(/`/g, "")}{" "}
                    <span class="aside">({run.data.edges.reasons[reason[edge]]})</span>
                  </button>
                );
              })}
            </dd>
          </>
        )}
      </dl>
      <MarkList marks={marks.filter((mark) => mark.operation === operation)} report={report} goto={goto} select={select} />
    </div>
  );
}

function MarkList({ marks, report, goto, select }: { marks: Mark[]; report: Report; goto: (place: Goto) => void; select: (operation: number) => void }) {
  if (!marks.length) return null;
  return (
    <ul class="marks">
      {marks.slice(0, 20).map(({ finding, operation }) => {
        const each = report.findings[finding];
        return (
          <li key={finding}>
            <button type="button" class={`code ${each.severity}`} onClick={() => goto({ finding })}>
              {each.code}
            </button>{" "}
            <button type="button" class="link" onClick={() => select(operation)}>
              {each.headline.replace(/`/g, "")}
            </button>
          </li>
        );
      })}
    </ul>
  );
}

/** Where an operation is among those of its lane. */
function position(operations: Uint32Array, places: Float64Array, operation: number, run: Run): number {
  const timed = places.length > 0 && places[places.length - 1] !== operations[operations.length - 1];
  for (let at = lowerBound(places, run.placeOf(operation, timed)); at < operations.length; at++) if (operations[at] === operation) return at;
  return operations.indexOf(operation);
}
