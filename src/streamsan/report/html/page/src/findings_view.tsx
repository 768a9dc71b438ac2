// The list of findings, with its filter, beside the one that is selected.
import { useMemo, useRef, useState } from "preact/hooks";
import type { Goto } from "./app.tsx";
import { FindingDetail } from "./finding_detail.tsx";
import type { Finding, Report, Severity } from "./report.ts";
import { Marked } from "./marked.tsx";
import { count } from "./words.ts";

const SEVERITIES: Severity[] = ["error", "warning", "note"];
/** rows of the list that are drawn at first; more are a button away */
const ROWS = 300;

interface Props {
  report: Report;
  selected: number;
  select: (finding: number) => void;
  goto: (place: Goto) => void;
}

export function FindingsView({ report, selected, select, goto }: Props) {
  const [words, setWords] = useState("");
  const [hidden, setHidden] = useState<Severity[]>([]);
  const [rows, setRows] = useState(ROWS);
  const list = useRef<HTMLUListElement>(null);
  const shown = useMemo(() => filtered(report.findings, words, hidden), [report, words, hidden]);
  if (!report.findings.length) {
    return (
      <p class="empty">
        <strong>Nothing found.</strong> {report.summary}. The run is drawn under Run.
      </p>
    );
  }
  const move = (event: KeyboardEvent) => {
    const at = shown.indexOf(selected);
    const steps: Record<string, number> = { ArrowDown: at + 1, j: at + 1, ArrowUp: at - 1, k: at - 1, Home: 0, End: shown.length - 1 };
    const next = shown[steps[event.key]];
    if (!(event.key in steps) || next === undefined) return;
    event.preventDefault();
    select(next);
    list.current?.querySelector<HTMLElement>(`[data-finding="${next}"]`)?.focus();
  };
  const toggle = (severity: Severity) =>
    setHidden(hidden.includes(severity) ? hidden.filter((each) => each !== severity) : [...hidden, severity]);
  const finding = report.findings[selected];
  return (
    <div class="findings">
      <nav aria-label="Findings">
        <div class="filter">
          <input
            type="search"
            placeholder="Filter: code, word, file"
            aria-label="Filter findings"
            value={words}
            onInput={(event) => setWords(event.currentTarget.value)}
          />
          <div class="severities">
            {SEVERITIES.map((severity) => (
              <button
                key={severity}
                type="button"
                class={`chip ${severity}`}
                aria-pressed={!hidden.includes(severity)}
                onClick={() => toggle(severity)}
              >
                {count(report.counts[severity], severity)}
              </button>
            ))}
          </div>
        </div>
        <p class="visually-hidden" role="status">
          {count(shown.length, "finding")} shown
        </p>
        <ul ref={list} onKeyDown={move}>
          {shown.slice(0, rows).map((number) => (
            <Row key={number} finding={report.findings[number]} number={number} current={number === selected} select={select} />
          ))}
        </ul>
        {shown.length > rows && (
          <button type="button" class="more" onClick={() => setRows(rows + ROWS * 4)}>
            {count(shown.length - rows, "more finding")}
          </button>
        )}
        {!shown.length && <p class="empty">No finding has these words.</p>}
      </nav>
      {finding && <FindingDetail key={selected} finding={finding} goto={goto} />}
    </div>
  );
}

function Row({ finding, number, current, select }: { finding: Finding; number: number; current: boolean; select: (finding: number) => void }) {
  return (
    <li>
      <button
        type="button"
        class={`row ${finding.severity}`}
        aria-current={current ? "true" : undefined}
        data-finding={number}
        onClick={() => select(number)}
      >
        <span class="row-head">
          <span class={`code ${finding.severity}`}>{finding.code}</span>
          <span class="name">{finding.name}</span>
          <span class="visually-hidden">{finding.severity}</span>
        </span>
        <span class="row-message">
          <Marked text={finding.headline} />
        </span>
        <span class="row-place">
          {finding.location.file}
          {finding.location.line ? `:${finding.location.line}` : ""}
        </span>
      </button>
    </li>
  );
}

function filtered(findings: Finding[], words: string, hidden: Severity[]): number[] {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  const found: number[] = [];
  findings.forEach((finding, number) => {
    if (hidden.includes(finding.severity)) return;
    const text = [finding.code, finding.name, finding.headline, finding.location.file, ...finding.related.map((each) => each.message)].join("\n").toLowerCase();
    if (wanted.every((word) => text.includes(word))) found.push(number);
  });
  // The gravest first, each severity by place.
  const rank = (number: number) => SEVERITIES.indexOf(findings[number].severity);
  return found.sort((a, b) => rank(a) - rank(b) || a - b);
}
