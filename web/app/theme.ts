import { useSyncExternalStore } from "react";

export type Theme = "system" | "light" | "dark";

const key = "perdure.theme";
const dark = matchMedia("(prefers-color-scheme: dark)");
const listeners = new Set<() => void>();

function stored(): Theme {
  const t = localStorage.getItem(key);
  return t === "light" || t === "dark" ? t : "system";
}

let theme = stored();

function apply(): void {
  document.documentElement.dataset.theme = theme === "system" ? (dark.matches ? "dark" : "light") : theme;
}

/** Applies the theme to the document, and follows changes of the system and of other tabs. */
export function startTheme(): void {
  apply();
  dark.addEventListener("change", apply);
  addEventListener("storage", (e) => {
    if (e.key === key) setTheme(stored());
  });
}

export function setTheme(next: Theme): void {
  theme = next;
  if (next === "system") localStorage.removeItem(key);
  else localStorage.setItem(key, next);
  apply();
  for (const listener of listeners) listener();
}

export function useTheme(): Theme {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => theme,
  );
}
