import { useEffect, useState } from "react";

/** A part of the page that is loaded when it is needed first. */
export interface Part<T> {
  load: () => Promise<T>;
  loaded: T | null;
}

export const part = <T>(load: () => Promise<T>): Part<T> => ({ load, loaded: null });

/**
 * Returns the part once it is loaded, null before. If it cannot be loaded, the page does without
 * it, and the next component that wants it tries again.
 */
export function useLoaded<T>(of: Part<T>, wanted: boolean): T | null {
  const [, draw] = useState(0);
  const waits = wanted && of.loaded === null;
  useEffect(() => {
    if (!waits) return;
    let gone = false;
    of.load().then(
      (loaded) => {
        of.loaded = loaded;
        if (!gone) draw((n) => n + 1);
      },
      () => undefined,
    );
    return () => {
      gone = true;
    };
  }, [of, waits]);
  return wanted ? of.loaded : null;
}
