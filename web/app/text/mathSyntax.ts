import type {
  Code,
  Construct,
  Effects,
  Extension,
  State,
  Token,
  TokenizeContext,
} from "micromark-util-types";
import { closingLine, displayLike, formulaLike, longestDisplay, longestInline } from "./math";

declare module "micromark-util-types" {
  interface TokenTypeMap {
    formula: "formula";
    formulaText: "formulaText";
  }
}

const [dollar, backslash] = [36, 92];
/** The number of failed attempts after which a paragraph is searched no further. */
const mostFailures = 100;
const failures = new WeakMap<TokenizeContext, number>();

const isEol = (c: Code) => c !== null && c < -2;
const isSpace = (c: Code) => c === null || c < 0 || c === 32 || c === 160;
const isLetter = (c: Code) => c !== null && c >= 0 && /[\p{L}]/u.test(String.fromCodePoint(c));
const isDigit = (c: Code) => c !== null && c >= 48 && c <= 57;

/** The letters that may follow a formula, as in "the $n$th". */
const ordinal: Construct = {
  partial: true,
  tokenize(effects, ok, nok) {
    let text = "";
    const read: State = (c) => {
      if (isLetter(c) && text.length < 3) {
        if (text === "") effects.enter("formulaText");
        text += String.fromCodePoint(c as number);
        effects.consume(c);
        return read;
      }
      if (text !== "") effects.exit("formulaText");
      return /^(?:|th|st|nd|rd|s)$/.test(text) && !isDigit(c) && c !== 95 && c !== 123 ? ok(c) : nok(c);
    };
    return read;
  },
};

/**
 * Reads the text of a formula. Each line and each line ending is a token of its own. The parser needs
 * these tokens to join the lines of a list item or a quote.
 */
class Reader {
  /** What has been read since the delimiter. */
  inner = "";
  readonly #effects: Effects;
  #open = false;

  constructor(effects: Effects) {
    this.#effects = effects;
    effects.enter("formula");
  }

  consume(c: Code): void {
    const eol = isEol(c);
    if (eol) this.#close();
    else if (!this.#open) this.#effects.enter("formulaText");
    this.#open = !eol;
    if (eol) this.#effects.enter("lineEnding");
    this.inner += c === null || c < 0 ? " " : String.fromCodePoint(c);
    this.#effects.consume(c);
    if (eol) this.#effects.exit("lineEnding");
  }

  exit(): void {
    this.#close();
    this.#effects.exit("formula");
  }

  #close(): void {
    if (this.#open) this.#effects.exit("formulaText");
    this.#open = false;
  }
}

/** `$a$` and `$$a$$` within a paragraph. Prices are no formulas. */
const dollars: Construct = {
  name: "formula",
  previous: (c) => c !== dollar && !isLetter(c) && !isDigit(c),
  tokenize(effects, ok, refuse) {
    const nok = counted(this, refuse);
    let reader: Reader;
    let width = 0;
    let escaped = false;
    let last: Code = null;
    const open: State = (c) => {
      if (c === dollar && width < 2) {
        width++;
        reader.consume(c);
        return open;
      }
      if (c === null || c === dollar || (width === 1 && isSpace(c))) return nok(c);
      reader.inner = "";
      return within(c);
    };
    const within: State = (c) => {
      if (c === null || reader.inner.length > (width === 2 ? longestDisplay : longestInline)) return nok(c);
      const ends = c === dollar && !escaped;
      // A dollar after a space may be a price, and ends the search.
      if (ends && width === 1 && isSpace(last)) return nok(c);
      if (ends && width === 1 && !formulaLike(reader.inner)) return nok(c);
      if (ends && width === 2 && reader.inner.trim() === "") return nok(c);
      // Two backslashes are a new line in TeX, and escape nothing.
      escaped = c === backslash && !escaped;
      last = c;
      reader.consume(c);
      if (!ends) return within;
      if (width === 2) return second;
      reader.exit();
      return effects.check(ordinal, ok, nok);
    };
    const second: State = (c) => {
      if (c !== dollar) return nok(c);
      reader.consume(c);
      reader.exit();
      return (next) => (next === dollar ? nok(next) : ok(next));
    };
    return (c) => {
      if (tooMany(this)) return refuse(c);
      reader = new Reader(effects);
      return open(c);
    };
  },
};

/** `\(a\)` and `\[a\]` within a paragraph. */
const brackets: Construct = {
  name: "formula",
  tokenize(effects, ok, refuse) {
    const nok = counted(this, refuse);
    let reader: Reader;
    let close = 0;
    let escaped = false;
    const open: State = (c) => {
      if (c !== 40 && c !== 91) return refuse(c);
      close = c === 40 ? 41 : 93;
      reader.consume(c);
      reader.inner = "";
      return within;
    };
    const within: State = (c) => {
      if (c === null || reader.inner.length > (close === 93 ? longestDisplay : longestInline)) return nok(c);
      const ends = c === close && escaped;
      const inner = reader.inner.slice(0, -1);
      escaped = c === backslash && !escaped;
      reader.consume(c);
      if (!ends) return within;
      reader.exit();
      return inner.trim() === "" || (close === 93 && !displayLike(inner)) ? nok : after;
    };
    // The address of an escaped link.
    const after: State = (c) => (close === 93 && (c === 40 || c === 91 || c === 58) ? nok(c) : ok(c));
    return (c) => {
      if (tooMany(this)) return refuse(c);
      reader = new Reader(effects);
      reader.consume(c);
      return open;
    };
  },
};

const tooMany = (self: TokenizeContext) => (failures.get(self) ?? 0) >= mostFailures;

/** Counts a failure, because each of them has read the paragraph ahead. */
function counted(self: TokenizeContext, nok: State): State {
  return (c) => {
    failures.set(self, (failures.get(self) ?? 0) + 1);
    return nok(c);
  };
}

/** `$$` or `\[` at the start of a line, with the end on a later line. */
function lines(source: string): Construct {
  const all = source.split(/\r\n|\r|\n/);
  return {
    name: "formula",
    concrete: true,
    tokenize(effects, ok, nok) {
      const from = this.now().line - 1;
      let reader: Reader;
      let last = -1;
      const mark: State = (first) => {
        const [open, close] = first === dollar ? (["$$", "$$"] as const) : (["\\[", "\\]"] as const);
        reader = new Reader(effects);
        reader.consume(first);
        return (c) => {
          if (c !== open.charCodeAt(1)) return nok(c);
          const line = all[from] ?? "";
          const rest = line.slice(line.indexOf(open) + 2);
          last = rest.includes(close) ? -1 : closingLine(all, from, close);
          if (last < 0) return nok(c);
          reader.consume(c);
          return this.interrupt ? ok : within;
        };
      };
      const within: State = (c) => {
        const at = this.now().line - 1;
        if (at >= last && (c === null || isEol(c))) {
          reader.exit();
          return ok(c);
        }
        if (c === null) return nok(c);
        reader.consume(c);
        return isEol(c) ? next : within;
      };
      // The line must continue the same list item or quote.
      const next: State = (c) => (this.parser.lazy[this.now().line] ? nok(c) : within(c));
      return mark;
    },
  };
}

/** The syntax of formulas in markdown. `source` is the whole text that is parsed. */
export function mathSyntax(source: string): Extension {
  const line = lines(source);
  return {
    flow: { [dollar]: line, [backslash]: line },
    text: { [dollar]: dollars, [backslash]: brackets },
  };
}

interface Compiler {
  enter(node: unknown, token: Token): void;
  exit(token: Token): void;
  sliceSerialize(token: Token): string;
}

/** A formula becomes an element `tex` that contains its source. */
const toTree = {
  enter: {
    formula(this: Compiler, token: Token) {
      const source = this.sliceSerialize(token);
      const text = { type: "text", value: source };
      this.enter({ type: "formula", value: source, data: { hName: "tex", hChildren: [text] } }, token);
    },
  },
  exit: {
    formula(this: Compiler, token: Token) {
      this.exit(token);
    },
  },
};

/** Adds formulas to remark, which parses `source`. */
export function remarkFormulas(this: unknown, source: string): void {
  const data = (this as { data(): Record<string, unknown[] | undefined> }).data();
  data.micromarkExtensions = [...(data.micromarkExtensions ?? []), mathSyntax(source)];
  data.fromMarkdownExtensions = [...(data.fromMarkdownExtensions ?? []), toTree];
}
