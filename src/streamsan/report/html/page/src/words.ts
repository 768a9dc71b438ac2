// Numbers in words.

export function bytes(count: number): string {
  const units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (count >= 1024 && unit < units.length - 1) {
    count /= 1024;
    unit++;
  }
  return `${unit ? trimmed(count) : Math.round(count)} ${units[unit]}`;
}

export function duration(ns: number): string {
  if (ns >= 1e9) return `${trimmed(ns / 1e9)} s`;
  if (ns >= 1e6) return `${trimmed(ns / 1e6)} ms`;
  if (ns >= 1e3) return `${trimmed(ns / 1e3)} \u00b5s`;
  return `${Math.round(ns)} ns`;
}

export function count(number: number, noun: string): string {
  return `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
}

function trimmed(value: number): string {
  return value >= 100 ? value.toFixed(0) : value.toFixed(value >= 10 ? 1 : 2).replace(/\.?0+$/, "");
}
