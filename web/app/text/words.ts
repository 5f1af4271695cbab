/** Returns the words of a search, in lower case. */
export const wordsIn = (wanted: string): string[] => wanted.toLowerCase().split(/\s+/).filter(Boolean);

/** Reports whether a text has every word, in any case and order. Without a word, each text fits. */
export function hasWords(text: string, words: readonly string[]): boolean {
  const lower = text.toLowerCase();
  return words.every((w) => lower.includes(w));
}
