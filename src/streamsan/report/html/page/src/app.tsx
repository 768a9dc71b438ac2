// The page: what it is about, four views, and which of them is shown.
import { useEffect, useMemo, useState } from "preact/hooks";
import { FindingDetail } from "./finding_detail.tsx";
import { FindingsView } from "./findings_view.tsx";
import { MemoryView } from "./memory_view.tsx";
import type { Report } from "./report.ts";
import { Run } from "./run.ts";
import { RunView } from "./run_view.tsx";
import { WaitsView } from "./waits_view.tsx";
import { count } from "./words.ts";

const VIEWS = ["Findings", "Run", "Memory", "Waits"] as const;
type View = (typeof VIEWS)[number];
/** findings that a printed page has in full */
const MOST_PRINTED = 60;

export interface Goto {
  finding?: number;
  run?: string;
  operation?: number;
}

export function App({ report }: { report: Report }) {
  const [view, setView] = useState<View>(report.findings.length ? "Findings" : "Run");
  const [finding, setFinding] = useState(firstShown(report));
  const [runNumber, setRunNumber] = useState(() => ofFinding(report, firstShown(report)));
  const [operation, setOperation] = useState(-1);
  const [run, setRun] = useState<Run | null>(null);
  const [failure, setFailure] = useState("");
  const printing = usePrinting();
  const data = report.runs[runNumber];

  useEffect(() => {
    let wanted = true;
    setRun(null);
    if (data) {
      Run.of(data).then(
        (unpacked) => wanted && setRun(unpacked),
        (error: unknown) => wanted && setFailure(`The run could not be unpacked: ${String(error)}`),
      );
    }
    return () => {
      wanted = false;
    };
  }, [data]);

  const goto = (place: Goto) => {
    if (place.finding !== undefined) {
      setFinding(place.finding);
      setView("Findings");
    }
    if (place.run !== undefined) {
      const number = report.runs.findIndex((each) => each.title === place.run);
      if (number >= 0) setRunNumber(number);
      setView("Run");
    }
    if (place.operation !== undefined) setOperation(place.operation);
  };

  const marks = useMemo(() => (data ? marksOf(report, data.title) : []), [report, data]);
  if (printing) return <Printed report={report} />;
  return (
    <>
      <Header report={report} view={view} setView={setView} />
      <main>
        <section id="view-Findings" role="tabpanel" aria-labelledby="tab-Findings" hidden={view !== "Findings"}>
          <FindingsView report={report} selected={finding} select={setFinding} goto={goto} />
        </section>
        {view !== "Findings" && (
          <section id={`view-${view}`} role="tabpanel" aria-labelledby={`tab-${view}`}>
            {report.runs.length > 1 && <RunChoice report={report} chosen={runNumber} choose={setRunNumber} />}
            {failure && <p class="problem">{failure}</p>}
            {!data && <p class="empty">There is no run to draw: nothing that was checked can be read as a trace.</p>}
            {data && !run && !failure && <p class="empty">Unpacking {count(data.operations, "operation")} ...</p>}
            {run && view === "Run" && (
              <RunView key={runNumber} run={run} marks={marks} report={report} selected={operation} select={setOperation} goto={goto} />
            )}
            {run && view === "Memory" && <MemoryView key={runNumber} run={run} />}
            {run && view === "Waits" && <WaitsView run={run} report={report} goto={goto} />}
          </section>
        )}
      </main>
      <footer>
        {report.tool}. {report.remarks.map((remark) => <span key={remark}> ({remark})</span>)}
      </footer>
    </>
  );
}

function Header({ report, view, setView }: { report: Report; view: View; setView: (view: View) => void }) {
  const onKey = (event: KeyboardEvent) => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (!step) return;
    const next = VIEWS[(VIEWS.indexOf(view) + step + VIEWS.length) % VIEWS.length];
    setView(next);
    document.getElementById(`tab-${next}`)?.focus();
    event.preventDefault();
  };
  return (
    <header>
      <h1>
        <svg viewBox="0 0 24 24" width="22" height="22" aria-hidden="true">
          <path d="M2 7h20M2 17h20" class="mark-lane" />
          <path d="M7 7 17 17" class="mark-gap" />
          <circle cx="7" cy="7" r="3" class="mark-a" />
          <circle cx="17" cy="17" r="3" class="mark-b" />
        </svg>
        streamsan
      </h1>
      <p class="counts">
        {(["error", "warning", "note"] as const).map((severity) => (
          <span key={severity} class={`chip ${severity}${report.counts[severity] ? "" : " none"}`}>
            {count(report.counts[severity], severity)}
          </span>
        ))}
        <span class="files">
          {count(report.files, "file")}, {count(report.operations, "operation")}
        </span>
      </p>
      <div role="tablist" aria-label="Views" onKeyDown={onKey}>
        {VIEWS.map((each) => (
          <button
            key={each}
            type="button"
            role="tab"
            id={`tab-${each}`}
            aria-selected={each === view}
            aria-controls={`view-${each}`}
            tabIndex={each === view ? 0 : -1}
            onClick={() => setView(each)}
          >
            {each}
          </button>
        ))}
      </div>
      {report.problems.map((problem) => (
        <p class="problem" key={problem}>
          {problem}
        </p>
      ))}
    </header>
  );
}

function RunChoice({ report, chosen, choose }: { report: Report; chosen: number; choose: (run: number) => void }) {
  return (
    <label class="run-choice">
      Run{" "}
      <select value={String(chosen)} onChange={(event) => choose(Number(event.currentTarget.value))}>
        {report.runs.map((run, number) => (
          <option key={number} value={String(number)}>
            {run.title} ({count(run.operations, "operation")})
          </option>
        ))}
      </select>
    </label>
  );
}

function Printed({ report }: { report: Report }) {
  const shown = report.findings.map((each, number) => ({ each, number })).filter(({ each }) => each.shown || report.counts.error + report.counts.warning === 0);
  return (
    <main class="printed">
      <h1>streamsan report</h1>
      <p>{report.summary}</p>
      {shown.slice(0, MOST_PRINTED).map(({ each, number }) => (
        <FindingDetail key={number} finding={each} goto={() => undefined} printed />
      ))}
      {shown.length > MOST_PRINTED && <p>{shown.length - MOST_PRINTED} more are not printed.</p>}
    </main>
  );
}

function usePrinting(): boolean {
  const [printing, setPrinting] = useState(() => matchMedia("print").matches);
  useEffect(() => {
    const media = matchMedia("print");
    const changed = () => setPrinting(media.matches);
    media.addEventListener("change", changed);
    return () => media.removeEventListener("change", changed);
  }, []);
  return printing;
}

function firstShown(report: Report): number {
  const rank = { error: 0, warning: 1, note: 2 };
  let best = 0;
  report.findings.forEach((each, number) => {
    if (rank[each.severity] < rank[report.findings[best].severity]) best = number;
  });
  return best;
}

function ofFinding(report: Report, finding: number): number {
  const title = report.findings[finding]?.scene?.run;
  return Math.max(0, report.runs.findIndex((run) => run.title === title));
}

export interface Mark {
  finding: number;
  operation: number;
}

/** Where the findings of a run are: the operation that each reports. */
function marksOf(report: Report, title: string): Mark[] {
  const marks: Mark[] = [];
  report.findings.forEach((each, finding) => {
    if (each.scene?.run !== title) return;
    const place = each.scene.operations.find((operation) => operation.role === "reported")?.place ?? -1;
    if (place >= 0) marks.push({ finding, operation: place });
  });
  return marks;
}
