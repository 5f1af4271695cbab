const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Returns the length of a text in bytes of UTF-8, the unit of offsets in the log. */
export function byteLength(text: string): number {
  let n = text.length;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c < 0x80) continue;
    if (c < 0x800) n += 1;
    else if (c >= 0xd800 && c < 0xdc00 && i + 1 < text.length) {
      n += 2; // two units, four bytes
      i++;
    } else n += 2;
  }
  return n;
}

/** Returns the text without its first bytes; null if that would split a character. */
export function withoutBytes(text: string, bytes: number): string | null {
  if (bytes === 0) return text;
  try {
    return decoder.decode(encoder.encode(text).subarray(bytes));
  } catch {
    return null;
  }
}
