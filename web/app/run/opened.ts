import { useState } from "react";

/** What was opened or closed by hand stays so while rows come and go. */
const byHand = new Map<string, boolean>();

export function useOpened(key: string, otherwise: boolean): [boolean, (open: boolean) => void] {
  const [chosen, choose] = useState(byHand.get(key));
  const set = (open: boolean) => {
    byHand.set(key, open);
    choose(open);
  };
  return [chosen ?? otherwise, set];
}
