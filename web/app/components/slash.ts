import { type RefObject, useCallback, useEffect } from "react";

/** Calls the function when `/` is pressed outside of a field. It must not change with each drawing. */
export function useSlashKey(onSlash: (open: true) => void): void {
  useEffect(() => {
    const onKey = (e: KeyboardEvent) => {
      if (e.key !== "/" || e.ctrlKey || e.metaKey || e.altKey || e.defaultPrevented || isTyping(e.target))
        return;
      e.preventDefault();
      onSlash(true);
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, [onSlash]);
}

/** Puts the focus on a search field when `/` is pressed outside of a field. */
export function useSlash(field: RefObject<HTMLInputElement | null>): void {
  useSlashKey(
    useCallback(() => {
      field.current?.focus();
      field.current?.select();
    }, [field]),
  );
}

function isTyping(target: EventTarget | null): boolean {
  if (target instanceof HTMLInputElement) return !/^(checkbox|radio|button|submit)$/.test(target.type);
  return (
    target instanceof HTMLElement && (target.isContentEditable || /^(TEXTAREA|SELECT)$/.test(target.tagName))
  );
}
