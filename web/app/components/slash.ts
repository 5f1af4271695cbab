import { type RefObject, useEffect } from "react";

/** Puts the focus on a search field when `/` is pressed outside of a field. */
export function useSlash(field: RefObject<HTMLInputElement | null>, before?: () => void): void {
  useEffect(() => {
    const onKey = (e: KeyboardEvent) => {
      if (e.key !== "/" || e.ctrlKey || e.metaKey || e.altKey || e.defaultPrevented || isTyping(e.target))
        return;
      e.preventDefault();
      before?.();
      requestAnimationFrame(() => {
        field.current?.focus();
        field.current?.select();
      });
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, [field, before]);
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  );
}
