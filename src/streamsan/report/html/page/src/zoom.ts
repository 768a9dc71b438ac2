// Zooming and panning of a canvas: wheel, drag, pinch, keys and buttons, on d3-zoom. Gives the part that is shown.
import { select } from "d3-selection";
import { type D3ZoomEvent, zoom, zoomIdentity } from "d3-zoom";
import { useCallback, useEffect, useRef, useState } from "preact/hooks";

export interface Zoom {
  /** the part of [0, extent) that is shown */
  begin: number;
  end: number;
  zoomBy: (factor: number) => void;
  panBy: (part: number) => void;
  fit: () => void;
  /** shows `width` places around one */
  show: (place: number, width: number) => void;
  onKey: (event: KeyboardEvent) => void;
}

/** `left`: pixels of the canvas before the picture begins; `least`: places that are shown at least. */
export function useZoom(canvas: { current: HTMLElement | null }, extent: number, width: number, left: number, least: number): Zoom {
  const [part, setPart] = useState({ begin: 0, end: extent });
  const behaviour = useRef<ReturnType<typeof zoom<HTMLElement, unknown>> | null>(null);
  const inner = Math.max(50, width - left);
  useEffect(() => {
    const element = canvas.current;
    if (!element) return;
    const own = zoom<HTMLElement, unknown>()
      .scaleExtent([1, Math.max(1, extent / least)])
      .translateExtent([[left, 0], [left + inner, 1]])
      .extent([[left, 0], [left + inner, 1]])
      .filter((event: Event) => {
        const { button, ctrlKey, shiftKey } = event as MouseEvent;
        // The page scrolls by the wheel with Shift; the wheel alone zooms, as in other timelines.
        return event.type === "wheel" ? !shiftKey : !button && !ctrlKey;
      })
      .on("zoom", (event: D3ZoomEvent<HTMLElement, unknown>) => {
        const { k, x } = event.transform;
        const at = (pixel: number) => Math.max(0, Math.min(extent, (((pixel - x) / k - left) / inner) * extent));
        setPart({ begin: at(left), end: at(left + inner) });
      });
    behaviour.current = own;
    const selection = select(element).call(own).on("dblclick.zoom", null);
    setPart({ begin: 0, end: extent });
    selection.call(own.transform, zoomIdentity);
    return () => {
      selection.on(".zoom", null);
    };
  }, [extent, inner, left, least]);
  const zoomBy = useCallback((factor: number) => {
    if (canvas.current && behaviour.current) select(canvas.current as HTMLElement).call(behaviour.current.scaleBy, factor);
  }, []);
  const panBy = useCallback(
    (share: number) => {
      if (!canvas.current || !behaviour.current) return;
      const scale = extent / Math.max(1e-9, part.end - part.begin);
      select(canvas.current as HTMLElement).call(behaviour.current.translateBy, (-share * inner) / scale, 0);
    },
    [part, extent, inner],
  );
  const fit = useCallback(() => {
    if (canvas.current && behaviour.current) select(canvas.current as HTMLElement).call(behaviour.current.transform, zoomIdentity);
  }, []);
  const show = useCallback(
    (place: number, places: number) => {
      if (!canvas.current || !behaviour.current) return;
      const scale = Math.max(1, extent / Math.max(least, places));
      const pixel = left + (place / extent) * inner;
      const middle = left + inner / 2;
      select(canvas.current as HTMLElement).call(behaviour.current.transform, zoomIdentity.translate(middle - pixel * scale, 0).scale(scale));
    },
    [extent, inner, left, least],
  );
  const onKey = (event: KeyboardEvent) => {
    const deeds: Record<string, () => void> = {
      "+": () => zoomBy(2),
      "=": () => zoomBy(2),
      "-": () => zoomBy(0.5),
      "0": fit,
      a: () => panBy(-0.25),
      d: () => panBy(0.25),
      w: () => zoomBy(2),
      s: () => zoomBy(0.5),
    };
    const deed = event.ctrlKey || event.metaKey || event.altKey ? undefined : deeds[event.key];
    if (!deed) return;
    event.preventDefault();
    deed();
  };
  return { ...part, zoomBy, panBy, fit, show, onKey };
}

/** The width of an element, and how many device pixels one of its pixels has; both change with the window. */
export function useWidth(element: { current: HTMLElement | null }): number {
  const [width, setWidth] = useState(0);
  useEffect(() => {
    if (!element.current) return;
    const observer = new ResizeObserver(([entry]) => setWidth(Math.floor(entry.contentRect.width)));
    observer.observe(element.current);
    return () => observer.disconnect();
  }, []);
  return width;
}

/** Counts the changes between light and dark, so that canvases draw anew. */
export function useTheme(): number {
  const [changes, setChanges] = useState(0);
  useEffect(() => {
    const media = matchMedia("(prefers-color-scheme: dark)");
    const changed = () => setChanges((each) => each + 1);
    media.addEventListener("change", changed);
    return () => media.removeEventListener("change", changed);
  }, []);
  return changes;
}
