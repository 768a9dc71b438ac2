// The source that a finding names, with what it says of each line; the line of what is shown stands out.
import { useEffect, useRef } from "preact/hooks";
import { Marked } from "./marked.tsx";
import type { Finding, SceneOperation } from "./report.ts";

export function SourcePane({ finding, current }: { finding: Finding; current: SceneOperation | null }) {
  const pane = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const row = pane.current?.querySelector<HTMLElement>("tr.current");
    if (!row || !pane.current) return;
    const box = pane.current;
    if (row.offsetTop < box.scrollTop || row.offsetTop + row.offsetHeight > box.scrollTop + box.clientHeight) {
      box.scrollTop = row.offsetTop - box.clientHeight / 3;
    }
  }, [current]);
  if (!finding.source.length) return null;
  return (
    <section class="source" aria-label="Source">
      <div class="source-scroll" ref={pane} tabIndex={0}>
        {finding.source.map((part) => (
          <table key={part.file}>
            <caption>{part.file}</caption>
            <tbody>
              {part.rows.map(([number, text, says], at) => {
                const own = part.file === finding.location.file && number === finding.location.line;
                const now = current !== null && current.file === part.file && current.line === number;
                const gap = at > 0 && number > part.rows[at - 1][0] + 1;
                const classes = [own ? "own" : "", says ? "named" : "", now ? "current" : "", gap ? "gap" : ""].join(" ");
                return (
                  <tr key={number} class={classes}>
                    <th scope="row">{number}</th>
                    <td>
                      <code>{text || " "}</code>
                      {says && (
                        <span class="says">
                          <Marked text={says} />
                        </span>
                      )}
                    </td>
                  </tr>
                );
              })}
            </tbody>
          </table>
        ))}
      </div>
    </section>
  );
}
