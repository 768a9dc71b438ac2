// Text with names in backticks, which stand in the type of code.
import type { ComponentChildren } from "preact";

export function Marked({ text }: { text: string }) {
  const parts: ComponentChildren[] = text.split(/(`[^`]*`)/).map((part, number) =>
    part.length > 2 && part.startsWith("`") && part.endsWith("`") ? <code key={number}>{part.slice(1, -1)}</code> : part,
  );
  return <>{parts}</>;
}
