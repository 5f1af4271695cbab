import { visible } from "./visible";

/**
 * A piece of terminal output in one style. Colours are 0–15 of the terminal's palette, or
 * `#rrggbb`.
 */
export interface Piece {
  text: string;
  fg?: number | string;
  bg?: number | string;
  bold?: boolean;
  dim?: boolean;
  italic?: boolean;
  underline?: boolean;
  inverse?: boolean;
}

type Style = Omit<Piece, "text">;

// CSI … final byte; OSC … BEL or ST; two-character escapes.
const escapes =
  /\x1b(?:\[([0-9;:?<=>]*)[ -/]*([@-~])|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[PX^_][^\x1b]*(?:\x1b\\)?|[ -/]*[0-OQ-WYZ\\`-~])/g;
const unseen = /[\x00-\x08\x0b-\x1f\x7f]/g;

/**
 * Converts terminal output to styled pieces. Colours are retained. Sequences that move the cursor,
 * set titles or query the terminal are dropped. A line overwritten after `\r` shows its last state.
 */
export function ansi(text: string): Piece[] {
  const pieces: Piece[] = [];
  let style: Style = {};
  let at = 0;
  const say = (raw: string) => {
    const shown = raw
      .replace(unseen, (c) => (c === "\r" ? c : ""))
      .split("\r")
      .map(visible)
      .join("\r");
    if (shown) push(pieces, shown, style);
  };
  for (const m of text.matchAll(escapes)) {
    say(text.slice(at, m.index));
    at = m.index + m[0].length;
    if (m[2] === "m") style = styled(style, m[1] ?? "");
  }
  // An incomplete escape sequence at the end is not shown.
  const rest = text.slice(at);
  const cut = rest.indexOf("\x1b");
  say(cut < 0 ? rest : rest.slice(0, cut));
  return overwritten(pieces);
}

function push(pieces: Piece[], text: string, style: Style): void {
  pieces.push({ ...style, text });
}

/** Removes the overwritten part of each line that has a carriage return. */
function overwritten(pieces: Piece[]): Piece[] {
  if (!pieces.some((p) => p.text.includes("\r"))) return pieces;
  const shown: Piece[] = [];
  let lineFrom = 0; // index in shown at which the line begins
  for (const p of pieces) {
    const parts = p.text.split(/(\r\n|\n|\r)/);
    for (const [i, part] of parts.entries()) {
      if (part === "\r") {
        if (followed(parts, i)) shown.length = lineFrom;
      } else if (part === "\n" || part === "\r\n") {
        shown.push({ ...p, text: "\n" });
        lineFrom = shown.length;
      } else if (part) shown.push({ ...p, text: part });
    }
  }
  return shown;
}

/**
 * Reports whether text follows a carriage return. A return at the end of a piece overwrites nothing
 * yet.
 */
const followed = (parts: string[], i: number) => parts.slice(i + 1).some((p) => p !== "");

function styled(before: Style, params: string): Style {
  const n = params === "" ? [0] : params.split(/[;:]/).map((p) => Number(p || 0));
  let s: Style = { ...before };
  for (let i = 0; i < n.length; i++) {
    const c = n[i] as number;
    if (c === 0) s = {};
    else if (c === 1) s.bold = true;
    else if (c === 2) s.dim = true;
    else if (c === 3) s.italic = true;
    else if (c === 4) s.underline = true;
    else if (c === 7) s.inverse = true;
    else if (c === 22) s = without(s, "bold", "dim");
    else if (c === 23) s = without(s, "italic");
    else if (c === 24) s = without(s, "underline");
    else if (c === 27) s = without(s, "inverse");
    else if (c >= 30 && c <= 37) s.fg = c - 30;
    else if (c >= 90 && c <= 97) s.fg = c - 82;
    else if (c >= 40 && c <= 47) s.bg = c - 40;
    else if (c >= 100 && c <= 107) s.bg = c - 92;
    else if (c === 39) s = without(s, "fg");
    else if (c === 49) s = without(s, "bg");
    else if (c === 38 || c === 48) {
      const [colour, used] = extended(n, i + 1);
      if (colour !== null) s[c === 38 ? "fg" : "bg"] = colour;
      i += used;
    }
  }
  return s;
}

function without(s: Style, ...names: (keyof Style)[]): Style {
  const rest = { ...s };
  for (const name of names) delete rest[name];
  return rest;
}

const hex = (n: number) => Math.max(0, Math.min(255, n)).toString(16).padStart(2, "0");

/**
 * Returns a colour of the 256-colour palette or of 24 bits, and the number of parameters that it
 * has.
 */
function extended(n: number[], i: number): [number | string | null, number] {
  if (n[i] === 2) return [`#${hex(n[i + 1] ?? 0)}${hex(n[i + 2] ?? 0)}${hex(n[i + 3] ?? 0)}`, 4];
  if (n[i] !== 5) return [null, 1];
  const c = n[i + 1] ?? 0;
  if (c < 16) return [c, 2];
  if (c > 231) return [`#${hex(8 + (c - 232) * 10).repeat(3)}`, 2];
  const level = (k: number) => hex(k === 0 ? 0 : 55 + k * 40);
  const cube = c - 16;
  return [`#${level(Math.floor(cube / 36))}${level(Math.floor(cube / 6) % 6)}${level(cube % 6)}`, 2];
}
