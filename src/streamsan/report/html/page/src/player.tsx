// The witness, step by step: an execution that the contract allows, and in which it goes wrong.
import { useEffect, useState } from "preact/hooks";
import { Marked } from "./marked.tsx";
import type { Scene } from "./report.ts";

const PACE = 1800;
/** ms from step to step */

interface Props {
  scene: Scene;
  step: number;
  setStep: (step: number) => void;
  printed: boolean;
}

export function Player({ scene, step, setStep, printed }: Props) {
  const [playing, setPlaying] = useState(false);
  const last = scene.moves.length;
  useEffect(() => {
    if (!playing) return;
    if (step >= last) {
      setPlaying(false);
      return;
    }
    const timer = setTimeout(() => setStep(step + 1), step ? PACE : 300);
    return () => clearTimeout(timer);
  }, [playing, step, last, setStep]);
  const go = (to: number) => {
    setPlaying(false);
    setStep(Math.max(0, Math.min(last, to)));
  };
  const onKey = (event: KeyboardEvent) => {
    const to: Record<string, number> = { ArrowRight: step + 1, ArrowLeft: step - 1, Home: 0, End: last };
    if (!(event.key in to)) return;
    event.preventDefault();
    go(to[event.key]);
  };
  return (
    <section class="witness" aria-label="Witness" onKeyDown={onKey}>
      <h3>How it goes wrong</h3>
      {!printed && (
        <div class="controls" role="toolbar" aria-label="Play the witness">
          <button type="button" aria-label="Back to the start" disabled={step === 0} onClick={() => go(0)}>
            <Icon path="M6 5v14M18 5 9 12l9 7z" />
          </button>
          <button type="button" aria-label="Step back" disabled={step === 0} onClick={() => go(step - 1)}>
            <Icon path="M16 5 7 12l9 7z" />
          </button>
          <button
            type="button"
            class="play"
            aria-label={playing ? "Pause" : "Play"}
            onClick={() => {
              if (!playing && step >= last) setStep(0);
              setPlaying(!playing);
            }}
          >
            <Icon path={playing ? "M8 5v14M16 5v14" : "M8 5l10 7-10 7z"} />
            {playing ? "Pause" : "Play"}
          </button>
          <button type="button" aria-label="Step forward" disabled={step === last} onClick={() => go(step + 1)}>
            <Icon path="M8 5l9 7-9 7z" />
          </button>
          <span class="at" role="status">
            {step ? `step ${step} of ${last}` : `${last} steps`}
          </span>
        </div>
      )}
      <ol>
        {scene.moves.map(([text, act], number) => (
          <li key={number} class={`${act} ${step === number + 1 ? "now" : step && step <= number ? "later" : ""}`} aria-current={step === number + 1 ? "step" : undefined}>
            <button type="button" onClick={() => go(number + 1)} disabled={printed}>
              <Marked text={text} />
            </button>
          </li>
        ))}
      </ol>
    </section>
  );
}

function Icon({ path }: { path: string }) {
  return (
    <svg viewBox="0 0 24 24" width="16" height="16" aria-hidden="true" class="icon">
      <path d={path} />
    </svg>
  );
}
