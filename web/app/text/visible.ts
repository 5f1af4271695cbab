/**
 * Returns a text in which every character is written out that could deceive its reader: control
 * characters except line ends and tabs, characters that change the direction of writing, and invisible
 * ones. Each becomes a JSON escape like \u202e, so the meaning of JSON does not change. It is the rule of
 * Go's package internal/visible, which the terminal and the pages of links use.
 */
export function visible(text: string): string {
  if (!suspect.test(text)) return text;
  let out = "";
  let before = "";
  for (const c of text) {
    const keeps = !suspect.test(c) || plain.test(c) || (joiner.test(c) && joins(before));
    out += keeps ? c : escaped(c);
    before = keeps ? c : "";
  }
  return out;
}

const suspect = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u;

/** Line ends, tabs, variation selectors, and signs of numbers that a script writes. */
const plain = /[\n\t\p{Variation_Selector}\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\u{110bd}\u{110cd}]/u;

/** ZERO WIDTH JOINER and NON-JOINER, which scripts and emoji need within a word. */
const joiner = /[\u200c\u200d]/;

/** Reports whether a joiner may follow a character. It may not follow a Latin letter. */
const joins = (c: string) => c !== "" && (c.codePointAt(0) ?? 0) > 0x2ff && !joiner.test(c);

const escaped = (c: string) =>
  Array.from({ length: c.length }, (_, i) => `\\u${c.charCodeAt(i).toString(16).padStart(4, "0")}`).join("");
