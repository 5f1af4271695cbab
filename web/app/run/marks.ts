import { type RefObject, useEffect } from "react";
import type { Match } from "../fold/find";
import type { Row } from "../fold/rows";

/** The attribute of what is not searched in a row: texts of the page, and what repeats other text. */
export const unsearched = { "data-unsearched": "" };

/** The maximum number of matches that are marked at a time. */
const mostMarks = 2_000;

const marks = "perdure-find";
const currentMark = "perdure-find-current";

/**
 * Marks a text in the rows that are drawn, and the current match differently, where the browser can do
 * this without changing the rows.
 */
export function useMarks(
  scroller: RefObject<HTMLDivElement | null>,
  wanted: string,
  current: Match | null,
  rows: readonly Row[],
): void {
  const id = current?.id;
  const n = current?.n ?? 0;
  const index = id === undefined ? -1 : rows.findIndex((r) => r.id === id);
  useEffect(() => {
    const text = wanted.trim().toLowerCase();
    const box = scroller.current;
    if (!box || text === "" || !("highlights" in CSS)) return;
    const mark = () => {
      const one = matchIn(rowAt(box, index), text, n);
      CSS.highlights.set(marks, new Highlight(...rangesOf(box, text, mostMarks)));
      const now = new Highlight(...(one ? [one] : []));
      now.priority = 1;
      CSS.highlights.set(currentMark, now);
    };
    let frame = requestAnimationFrame(mark);
    const observer = new MutationObserver(() => {
      cancelAnimationFrame(frame);
      frame = requestAnimationFrame(mark);
    });
    observer.observe(box, { subtree: true, childList: true, characterData: true });
    return () => {
      observer.disconnect();
      cancelAnimationFrame(frame);
      CSS.highlights.delete(marks);
      CSS.highlights.delete(currentMark);
    };
  }, [scroller, wanted, index, n]);
}

/** Returns the element of a row, or null if it is not drawn. */
export const rowAt = (box: HTMLElement | null, index: number): HTMLElement | null =>
  box?.querySelector<HTMLElement>(`[data-index="${index}"]`) ?? null;

/**
 * Returns where a row shows its match with this number. If the row shows fewer, because a part of it is
 * folded, it is the last one; null if it shows none.
 */
export function matchIn(row: HTMLElement | null, text: string, n: number): Range | null {
  return (row && rangesOf(row, text, n + 1).at(-1)) ?? null;
}

function rangesOf(box: HTMLElement, text: string, most: number): Range[] {
  const ranges: Range[] = [];
  const walker = document.createTreeWalker(box, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node && ranges.length < most; node = walker.nextNode()) {
    const inNode = (node.textContent ?? "").toLowerCase();
    if (inNode.length !== node.textContent?.length) continue; // a letter has another length in lower case
    if (!inNode.includes(text) || node.parentElement?.closest("[data-unsearched]")) continue;
    let at = inNode.indexOf(text);
    for (; at >= 0 && ranges.length < most; at = inNode.indexOf(text, at + text.length)) {
      const range = document.createRange();
      range.setStart(node, at);
      range.setEnd(node, at + text.length);
      ranges.push(range);
    }
  }
  return ranges;
}

/**
 * Scrolls a match into view, in the box and in what scrolls inside of it. Reports whether it was in view
 * before, or undefined if it has no place because it is folded.
 */
export function reveal(match: Range, box: HTMLElement): boolean | undefined {
  if (match.getBoundingClientRect().height === 0) return undefined;
  let seen = true;
  for (let e = match.startContainer.parentElement; e; e = e === box ? null : e.parentElement) {
    if (e.scrollHeight <= e.clientHeight || !/auto|scroll/.test(getComputedStyle(e).overflowY)) continue;
    const [at, of] = [match.getBoundingClientRect(), e.getBoundingClientRect()];
    if (at.top >= of.top && at.bottom <= of.bottom) continue;
    e.scrollTop += at.top - of.top - (e.clientHeight - at.height) / 2;
    seen = false;
  }
  return seen;
}
