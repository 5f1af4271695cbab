const fenceLine = /^ {0,3}(`{3,}|~{3,})(.*)$/;
const marker = /^ {0,3}(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)/;
const indented = /^(?: {4}| {0,3}\t)/;
/**
 * Markdown that has an effect beyond a blank line: link definitions, footnotes and blocks of HTML.
 */
const whole = /^ {0,3}(?:\[[^\]]+\]:|<[a-z/!?])/im;

/**
 * Splits markdown into blocks that have the same meaning separately as together. While a text
 * grows, only its last block is then parsed again. The text is split at blank lines that no list,
 * code block or indented text can span. A text with link definitions, footnotes or HTML blocks is
 * not split.
 */
export function blocksOf(text: string): string[] {
  if (whole.test(text)) return [text];
  const blocks: string[] = [];
  const lines = text.split("\n");
  let from = 0;
  let fence = "";
  let loose = false; // in a list, whose items may be separated by blank lines
  let before = ""; // the last line that is not blank
  for (const [i, line] of lines.entries()) {
    if (fence) {
      const m = fenceLine.exec(line);
      if (m?.[1] && m[1][0] === fence[0] && m[1].length >= fence.length && !m[2]?.trim()) fence = "";
      continue;
    }
    const blankBefore = i > 0 && lines[i - 1]?.trim() === "";
    // After indented code, the parser reads some list markers as text.
    const begins = /^\S/.test(line) && !(marker.test(line) && (loose || indented.test(before)));
    if (blankBefore && begins) {
      if (i > from) blocks.push(lines.slice(from, i).join("\n"));
      from = i;
      loose = false;
    }
    if (marker.test(line)) loose = true;
    if (line.trim()) before = line;
    const m = fenceLine.exec(line);
    if (m?.[1] && !(m[1][0] === "`" && m[2]?.includes("`"))) fence = m[1];
  }
  blocks.push(lines.slice(from).join("\n"));
  return blocks;
}
