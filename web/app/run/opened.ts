import { useState } from "react";

/**
 * Whether the user has opened or closed an element. It is stored here because rows are unmounted
 * and mounted again.
 */
const byHand = new Map<string, boolean>();

export function useOpened(key: string, otherwise: boolean): [boolean, (open: boolean) => void] {
  const [chosen, choose] = useState(byHand.get(key));
  const set = (open: boolean) => {
    byHand.set(key, open);
    choose(open);
  };
  return [chosen ?? otherwise, set];
}
