import { createElement, type ReactNode } from "react";
import temml from "temml";
import "temml/dist/Temml-Local.css";
import type { Formula } from "../text/math";

/** A node of the tree that Temml makes. */
interface Node {
  type?: string;
  text?: string;
  children?: Node[];
  attributes?: Record<string, unknown>;
  classes?: string[];
  style?: Record<string, unknown>;
}

const elements = new Set([
  "math", "menclose", "mfrac", "mi", "mmultiscripts", "mn", "mo", "mover", "mpadded", "mphantom", "mprescripts", "mroot",
  "mrow", "mspace", "msqrt", "mstyle", "msub", "msubsup", "msup", "mtable", "mtd", "mtext", "mtr", "munder", "munderover",
  "none", "mlabeledtr",
]); // biome-ignore format: a list
const attributes = new Set([
  "accent", "accentunder", "columnalign", "columnlines", "columnspacing", "columnspan", "depth", "display", "displaystyle",
  "fence", "form", "height", "largeop", "linethickness", "lspace", "mathvariant", "maxsize", "minsize", "movablelimits",
  "notation", "rowspacing", "rspace", "scriptlevel", "separator", "stretchy", "symmetric", "voffset", "width",
]); // biome-ignore format: a list
const styles =
  /^(?:padding|border|text|font|math|margin|width|height|color|display|transform|position|left|right|bottom)/;

/** Bounds of what is drawn. A formula beyond them is shown as its source. */
const [mostNodes, deepest] = [4_000, 60];

/** Returns a formula as MathML elements, or null if it is wrong or too large. */
export function drawnFormula({ tex, display }: Formula): ReactNode {
  try {
    const tree = temml.__renderToMathMLTree(tex, {
      displayMode: display,
      throwOnError: true,
      trust: false,
      maxSize: [20, 200],
      maxExpand: 500,
    });
    return new Drawing().draw(tree as Node, 0, "formula");
  } catch {
    return null;
  }
}

class Drawing {
  #nodes = 0;

  draw(node: Node, depth: number, key: string): ReactNode {
    if (++this.#nodes > mostNodes || depth > deepest) throw new RangeError("the formula is too large");
    if (node.text !== undefined && node.type === undefined) return node.text;
    const children = (node.children ?? []).map((n, i) => this.draw(n, depth + 1, String(i)));
    const { type = "mrow" } = node;
    // A part of a formula that is no element of MathML, such as a group, is drawn as a row.
    const props = { key, ...attributesOf(node), className: (node.classes ?? []).join(" ") || undefined };
    return createElement(elements.has(type) ? type : "mrow", { ...props, style: styleOf(node) }, ...children);
  }
}

function attributesOf(node: Node): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const [name, value] of Object.entries(node.attributes ?? {})) {
    if (attributes.has(name)) kept[name] = sized(String(value));
  }
  return kept;
}

/** React sets styles one by one, as the page's policy permits, and not as an attribute. */
function styleOf(node: Node): Record<string, string> | undefined {
  const kept: Record<string, string> = {};
  for (const [name, value] of Object.entries(node.style ?? {})) {
    const plain = name.replace(/-(.)/g, (_, c: string) => c.toUpperCase());
    if (styles.test(plain) && !/url|\(.*\(/.test(String(value))) kept[plain] = sized(String(value));
  }
  return Object.keys(kept).length > 0 ? kept : undefined;
}

/** Refuses a length that would draw outside of the formula's place. */
function sized(value: string): string {
  for (const [, n] of value.matchAll(/(-?\d+(?:\.\d+)?)(?:em|ex|pt|px|mm|cm|in)\b/g)) {
    if (Number(n) > 250 || Number(n) < -4) throw new RangeError("a length is too large");
  }
  return value;
}
