const fenceLine = /^ {0,3}(`{3,}|~{3,})(.*)$/;
const marker = /^ {0,3}(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)/;
const indented = /^(?: {4}| {0,3}\t)/;
/** What reaches over blank lines: link definitions and footnotes, and blocks of HTML. */
const whole = /^ {0,3}(?:\[[^\]]+\]:|<[a-z/!?])/im;

/**
 * Cuts markdown into pieces that mean the same one by one as together, so that
 * while a text grows only its last piece is read again. A cut is made at a blank
 * line that no list, code block or indented text can go over. A text with
 * something that reaches over pieces stays whole.
 */
export function blocksOf(text: string): string[] {
  if (whole.test(text)) return [text];
  const blocks: string[] = [];
  const lines = text.split("\n");
  let from = 0;
  let fence = "";
  let loose = false; // in a list, whose items may be apart
  let before = ""; // the last line that is not blank
  for (const [i, line] of lines.entries()) {
    if (fence) {
      const m = fenceLine.exec(line);
      if (m?.[1] && m[1][0] === fence[0] && m[1].length >= fence.length && !m[2]?.trim()) fence = "";
      continue;
    }
    const blankBefore = i > 0 && lines[i - 1]?.trim() === "";
    // After indented code the parser reads some markers as words.
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
