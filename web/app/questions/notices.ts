import { useEffect, useRef, useState } from "react";
import type { Question } from "../../client/src/index";
import { headingOf } from "./question";

const wantedKey = "perdure.notices";

/** Whether this browser can show notices outside of its window. */
export const canNotify = () => typeof Notification !== "undefined" && Notification.permission !== "denied";

/** Whether the person wants notices, and the browser permits them. */
export const noticesWanted = () =>
  canNotify() && localStorage.getItem(wantedKey) === "yes" && Notification.permission === "granted";

/** Whether the person wants a notice for each new question, and a function that changes it. */
export function useNoticesWanted(): [boolean, (on: boolean) => Promise<void>] {
  const [on, setOn] = useState(() => noticesWanted());
  const change = async (next: boolean) => {
    if (next && Notification.permission !== "granted") await Notification.requestPermission();
    localStorage.setItem(wantedKey, next ? "yes" : "no");
    setOn(noticesWanted());
  };
  return [on, change];
}

/** Shows a notice for each question that opens while the window is hidden. */
export function useNotices(open: readonly Question[] | undefined): void {
  const known = useRef<Set<string> | null>(null);
  useEffect(() => {
    if (!open) return;
    const before = known.current;
    known.current = new Set(open.map((q) => q.id));
    if (!before || !document.hidden || !noticesWanted()) return;
    for (const q of open) {
      if (before.has(q.id)) continue;
      const notice = new Notification(headingOf(q), { body: q.agentExecutionTitle ?? "", tag: q.id });
      notice.onclick = () => {
        window.focus();
        notice.close();
      };
    }
  }, [open]);
}
