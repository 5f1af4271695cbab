import { type CSSProperties, memo, useLayoutEffect, useMemo, useRef } from "react";
import { ansi, type Piece } from "../text/ansi";

// Sixteen colours that are readable on the terminal's dark background.
const palette = [
  "#7f7f92", "#ff7b72", "#7ee787", "#e3b341", "#79b8ff", "#d2a8ff", "#6fd7e0", "#d9d9e3",
  "#9a9aad", "#ff9d96", "#a5f0ac", "#f2cc60", "#a5d0ff", "#e2c5ff", "#9be9f0", "#ffffff",
]; // biome-ignore format: a table

const colour = (c: number | string | undefined) => (typeof c === "number" ? palette[c] : c);

function styleOf(p: Piece): CSSProperties {
  const [fg, bg] = p.inverse
    ? [colour(p.bg) ?? "#14141b", colour(p.fg) ?? "#d9d9e3"]
    : [colour(p.fg), colour(p.bg)];
  return {
    color: fg,
    backgroundColor: bg,
    fontWeight: p.bold ? 700 : undefined,
    opacity: p.dim ? 0.75 : undefined,
    fontStyle: p.italic ? "italic" : undefined,
    textDecoration: p.underline ? "underline" : undefined,
  };
}

/** The maximum number of characters drawn. Of longer output, the end is drawn. */
const most = 60_000;

/** Output of a terminal. The view stays at the end while the output grows. */
export const Terminal = memo(function Terminal({ text, label }: { text: string; label: string }) {
  const cut = text.length > most;
  const pieces = useMemo(() => ansi(cut ? text.slice(-most) : text), [text, cut]);
  const box = useRef<HTMLPreElement>(null);
  const atEnd = useRef(true);
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs after every change of the drawn output
  useLayoutEffect(() => {
    const b = box.current;
    if (b && atEnd.current) b.scrollTop = b.scrollHeight;
  }, [pieces]);
  return (
    <pre
      ref={box}
      role="log"
      aria-live="off"
      aria-label={label}
      tabIndex={0}
      onScroll={(e) => {
        const b = e.currentTarget;
        atEnd.current = b.scrollHeight - b.scrollTop - b.clientHeight < 24;
      }}
      className="max-h-80 overflow-auto rounded-lg bg-term px-3.5 py-2.5 font-mono text-[12.5px] leading-[1.55] whitespace-pre-wrap text-term-ink [overflow-wrap:anywhere]"
    >
      {cut && (
        <span className="opacity-70">
          … the first {text.length - most} characters are left out here …{"\n"}
        </span>
      )}
      {pieces.map((p, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: pieces only grow at the end
        <span key={i} style={styleOf(p)}>
          {p.text}
        </span>
      ))}
    </pre>
  );
});
