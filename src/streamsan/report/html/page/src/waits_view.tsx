// All waits of a run by call site: how often, how long, whether they add order, and what each would save.
import { useState } from "preact/hooks";
import type { Goto } from "./app.tsx";
import type { Report, Wait } from "./report.ts";
import type { Run } from "./run.ts";
import { duration } from "./words.ts";

type Column = "place" | "count" | "ns" | "saves" | "adds";

export function WaitsView({ run, report, goto }: { run: Run; report: Report; goto: (place: Goto) => void }) {
  const waits = run.data.waits;
  const timed = waits.some((wait) => wait.ns > 0);
  const priced = waits.some((wait) => wait.saves !== null);
  const [by, setBy] = useState<Column>(priced ? "saves" : timed ? "ns" : "count");
  if (!waits.length) return <p class="empty">This run has no waits.</p>;
  const rows = [...waits].sort((a, b) => compare(run, by, a, b));
  const heads: [Column, string][] = [
    ["place", "Wait"],
    ["count", "Times"],
    ...(timed ? ([["ns", "Host waited"]] as [Column, string][]) : []),
    ...(priced ? ([["saves", "Would save"]] as [Column, string][]) : []),
    ["adds", "Adds order"],
  ];
  return (
    <div class="table-scroll">
      <table class="waits">
        <caption>
          Waits of the program by call site. A wait adds order where at least once something that it waited for was not before the waiter already, by what the documentation promises.
          {together(run.data.costs)}
        </caption>
        <thead>
          <tr>
            {heads.map(([column, title]) => (
              <th key={column} scope="col" aria-sort={by === column ? "descending" : undefined}>
                <button type="button" onClick={() => setBy(column)}>
                  {title}
                </button>
              </th>
            ))}
            <th scope="col">Findings</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((wait) => {
            const call = run.data.calls[wait.call];
            const { saves } = wait;
            return (
              <tr key={wait.call}>
                <th scope="row">
                  <button type="button" class="link" onClick={() => goto({ run: run.data.title, operation: wait.first })}>
                    {call[1]}
                  </button>
                  <span class="place">
                    {call[2]}
                    {call[3] ? `:${call[3]}` : ""}
                  </span>
                </th>
                <td class="number">{wait.count.toLocaleString("en")}</td>
                {timed && <td class="number">{wait.ns ? duration(wait.ns) : "\u2013"}</td>}
                {priced && <td class="number">{saves ? withSpread(saves[0], saves[1]) : "\u2013"}</td>}
                <td>{wait.adds === null ? "not known" : wait.adds ? "yes" : <strong class="no">no</strong>}</td>
                <td>
                  {wait.findings.map((number) => (
                    <button type="button" class={`code ${report.findings[number].severity}`} key={number} onClick={() => goto({ finding: number })}>
                      {report.findings[number].code}
                    </button>
                  ))}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

function withSpread(ns: number, spread: number): string {
  const time = ns < 0 ? `\u2212${duration(-ns)}` : duration(ns);
  return spread ? `${time} \u00b1 ${duration(spread)}` : time;
}

/** What all waits that can go cost together, in a sentence. */
function together(costs: [number, number, number] | null): string {
  if (!costs) return "";
  const [recorded, saves, spread] = costs;
  const without = saves > 0 ? ` Without all that can go it would have taken ${withSpread(saves, spread)} less.` : "";
  return ` The run took ${duration(recorded)}.${without}`;
}

function compare(run: Run, by: Column, a: Wait, b: Wait): number {
  if (by === "place") {
    const [first, second] = [run.data.calls[a.call], run.data.calls[b.call]];
    return first[2].localeCompare(second[2]) || first[3] - second[3];
  }
  if (by === "adds") return Number(a.adds !== false) - Number(b.adds !== false) || b.count - a.count;
  if (by === "saves") return (b.saves?.[0] ?? -Infinity) - (a.saves?.[0] ?? -Infinity) || b.ns - a.ns;
  return b[by] - a[by];
}
