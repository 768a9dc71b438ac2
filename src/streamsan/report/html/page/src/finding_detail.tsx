// One finding: the picture, the witness that is played in it, the source beside, why, and what to change.
import { useEffect, useMemo, useState } from "preact/hooks";
import type { Goto } from "./app.tsx";
import { Marked } from "./marked.tsx";
import { Player } from "./player.tsx";
import type { Finding, Scene } from "./report.ts";
import { ScenePicture } from "./scene_picture.tsx";
import { SourcePane } from "./source_pane.tsx";

interface Props {
  finding: Finding;
  goto: (place: Goto) => void;
  printed?: boolean;
}

export function FindingDetail({ finding, goto, printed = false }: Props) {
  /** 0: the whole picture; n: after the n-th step of the witness */
  const [step, setStep] = useState(0);
  const [focus, setFocus] = useState(-1);
  const { scene, location } = finding;
  useEffect(() => setFocus(-1), [step]);
  const at = useMemo(() => operationAt(scene, step), [scene, step]);
  const shown = focus >= 0 ? focus : at;
  const line = shown >= 0 && scene ? scene.operations[shown] : null;
  return (
    <article class={`detail ${finding.severity}`} aria-label={`${finding.code}: ${finding.headline}`}>
      <h2>
        <span class={`badge ${finding.severity}`}>
          {finding.severity} {finding.code}
        </span>
        {finding.confidence === "possible" && <span class="badge possible">possible</span>}
        <span class="headline">
          <Marked text={finding.headline} />
        </span>
      </h2>
      <p class="where">
        {location.file}
        {location.line ? `:${location.line}` : ""}
        {location.column ? `:${location.column}` : ""}
        {location.function && <> in {location.function}</>}
        {scene && !printed && (
          <button type="button" class="link" onClick={() => goto({ run: scene.run, operation: reported(scene) })}>
            show in the run
          </button>
        )}
      </p>
      {scene && <ScenePicture scene={scene} step={step} focus={focus} setFocus={setFocus} printed={printed} />}
      {finding.no_scene && <p class="aside no-scene">No picture: {finding.no_scene}.</p>}
      <div class="beside">
        {scene && scene.moves.length > 0 ? (
          <Player scene={scene} step={step} setStep={setStep} printed={printed} />
        ) : (
          finding.witness.length > 0 && <PlainWitness steps={finding.witness} />
        )}
        <SourcePane finding={finding} current={line} />
      </div>
      <Facts finding={finding} />
    </article>
  );
}

function PlainWitness({ steps }: { steps: string[] }) {
  return (
    <section class="witness">
      <h3>What goes wrong</h3>
      <ol>
        {steps.map((each, number) => (
          <li key={number}>
            <span>
              <Marked text={each} />
            </span>
          </li>
        ))}
      </ol>
    </section>
  );
}

function Facts({ finding }: { finding: Finding }) {
  const { contract, observed, fix } = finding;
  const replay = finding.properties["replay"];
  const unquoted = finding.related.filter(
    (each) => !finding.source.some((part) => part.file === each.file && part.rows.some(([number]) => number === each.line)),
  );
  return (
    <dl class="facts">
      {fix && (
        <>
          <dt>Fix{fix.verified && <span class="badge verified">verified on this trace</span>}</dt>
          <dd>
            <Marked text={fix.summary} />
            {!fix.verified && finding.no_fix && <p class="aside">Not verified: {finding.no_fix}</p>}
            {finding.diff.length > 0 && <Diff lines={finding.diff} />}
          </dd>
        </>
      )}
      {!fix && finding.no_fix && (
        <>
          <dt>No fix</dt>
          <dd>{finding.no_fix}</dd>
        </>
      )}
      {contract && (
        <>
          <dt>Contract</dt>
          <dd>
            <Marked text={contract.text} /> <span class="aside">({contract.source})</span>
          </dd>
        </>
      )}
      {observed && (
        <>
          <dt>Observed</dt>
          <dd>
            <Marked text={observed.text} />{" "}
            <span class="aside">
              ({observed.fact}: {observed.on})
            </span>
          </dd>
        </>
      )}
      {finding.overlap_words && (
        <>
          <dt>Overlap</dt>
          <dd>
            <Marked text={finding.overlap_words} />
          </dd>
        </>
      )}
      {replay !== undefined && (
        <>
          <dt>Replay</dt>
          <dd>{String(replay)}</dd>
        </>
      )}
      {!finding.witness.length && finding.no_witness && (
        <>
          <dt>No witness</dt>
          <dd>{finding.no_witness}</dd>
        </>
      )}
      {unquoted.length > 0 && (
        <>
          <dt>Also</dt>
          <dd>
            <ul>
              {unquoted.map((each, number) => (
                <li key={number}>
                  <span class="place">
                    {each.file}:{each.line}
                  </span>{" "}
                  <Marked text={each.message} />
                </li>
              ))}
            </ul>
          </dd>
        </>
      )}
      {finding.more_at_site > 0 && (
        <>
          <dt>More</dt>
          <dd>{finding.more_at_site} more like it at this site</dd>
        </>
      )}
    </dl>
  );
}

function Diff({ lines }: { lines: string[] }) {
  return (
    <pre class="diff" aria-label="The fix as a patch">
      {lines.map((line, number) => {
        const kind = /^(---|\+\+\+|@@)/.test(line) ? "head" : line.startsWith("+") ? "added" : line.startsWith("-") ? "removed" : "";
        return (
          <span key={number} class={kind}>
            {line + "\n"}
          </span>
        );
      })}
    </pre>
  );
}

function reported(scene: Scene): number {
  return scene.operations.find((each) => each.role === "reported")?.place ?? -1;
}

/** The operation that a step of the witness is about; -1: none. */
function operationAt(scene: Scene | null, step: number): number {
  if (!scene || step < 1) return -1;
  const number = scene.moves[step - 1][2];
  return number ? scene.operations.findIndex((each) => each.number === number) : -1;
}
