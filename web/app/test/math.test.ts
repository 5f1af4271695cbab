import fc from "fast-check";
import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import ReactMarkdown, { type Components } from "react-markdown";
import remarkGfm from "remark-gfm";
import { describe, expect, test } from "vitest";
import { blocksOf } from "../text/blocks";
import { formulaOf } from "../text/math";
import { remarkFormulas } from "../text/mathSyntax";

/** Formulas are shown as «TeX», and as «« TeX »» if they stand on their own. */
const components = {
  tex: ({ children }: { children: string }) => {
    const { tex, display } = formulaOf(children);
    return display ? `««${tex}»»` : `«${tex}»`;
  },
} as Components;
const html = (text: string) =>
  renderToStaticMarkup(
    createElement(ReactMarkdown, { remarkPlugins: [remarkGfm, [remarkFormulas, text]], components }, text),
  );
const formulas = (text: string) => [...html(text).matchAll(/««?([^»]*)»/g)].map((m) => m[1]);

describe("formulas", () => {
  test.each([
    ["$x$", ["x"]],
    ["a $x_1$ and $y_2$ b", ["x_1", "y_2"]],
    ["$a * b$ and *c* $d * e$", ["a * b", "d * e"]],
    ["the $n$th of ($k$-th), $m$.", ["n", "k", "m"]],
    ["\\(a_b\\) and \\(c_d\\)", ["a_b", "c_d"]],
    ["$$E = mc^2$$", ["E = mc^2"]],
    ["\\[ x^2 \\]", ["x^2"]],
    ["so \\[ x^2 \\] holds", ["x^2"]],
    ["$\\$5$", ["\\$5"]],
    ["$a \\\\$", ["a \\\\"]],
    ["**$x$**", ["x"]],
    ["| a | b |\n|-|-|\n| $x$ | $5 |", ["x"]],
    ["$$\na\n+ b\n- c\n= d\n$$", ["a\n+ b\n- c\n= d"]],
    ["so:\n$$\na\n+ b\n$$\nand", ["a\n+ b"]],
    ["\\[\n\\begin{aligned}\na &= b \\\\\n&= c\n\\end{aligned}\n\\].", undefined],
    ["1. one\n   $$\n   a\n   + b\n   $$\n2. two", undefined],
    ["> $$\n> a\n> $$\n> said", undefined],
  ])("%j", (text, want) => {
    const got = formulas(text);
    if (want) expect(got).toEqual(want);
    else expect(got).toHaveLength(1);
    expect(html(text)).not.toContain("$$");
  });

  test("keep their place in lists, quotes and paragraphs", () => {
    expect(html("1. one\n   $$\n   a\n   + b\n   $$\n2. two").replaceAll(/\s/g, "")).toBe(
      "<ol><li>one««a+b»»</li><li>two</li></ol>",
    );
    expect(html("> $$\n> a\n> $$\n> said").replaceAll(/\s/g, "")).toBe(
      "<blockquote>««a»»<p>said</p></blockquote>",
    );
    expect(html("so:\n$$\na\n$$\nand").replaceAll(/\s/g, "")).toBe("<p>so:</p>««a»»<p>and</p>");
  });

  test.each([
    "$5 and $10",
    "costs $5, or $ 6$",
    "US$5 and US$6",
    "R$50 e R$60",
    "between $5-$10",
    "I paid $20 for one and 30$ for two",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: variables of a shell
    "$HOME/$USER and ${A}/${B}",
    "$ x $",
    "$x $",
    "\\$x\\$",
    "`$x$` and ``$$y$$``",
    "```\n$x$\n$$\ny\n$$\n```",
    "    $x$",
    "\\[optional\\] and \\[x\\](y)",
    "- \\[ \\] to do",
    "$$",
    "$$$$",
    "$$$x$$$",
    "[a](https://a.example/?x=$b$c)",
    "https://a.example/?x=$b$",
  ])("%j has none", (text) => expect(formulas(text)).toEqual([]));

  test("that are not closed yet are text, and take nothing with them", () => {
    const text = "Sum:\n\n$$\n\\frac{a}{b}\n+ c\n$$\n\nAnd $x$ done.";
    for (let n = 0; n < text.length; n++) {
      const part = text.slice(0, n);
      const closed = part.indexOf("\n$$", 10) >= 0 ? 1 : 0;
      expect(formulas(part).length, part).toBe(closed + (part.includes("$x$") ? 1 : 0));
    }
    expect(html("$$ is money\n\n- a\n- b")).toContain("<li>a</li>");
    expect(html("$$\n- a\n- b")).toContain("<li>a</li>");
    expect(html("\\[\n- a\n- b")).toContain("<li>a</li>");
  });

  test("do not change what blocks mean", () => {
    const lines = fc.constantFrom(
      "", "", "words $x$ and", "$5 and $10", "$$", "$$ a", "+ b", "c $$", "\\[", "\\]", "\\(y\\)", "- item",
      "  $$", "> $$", "> a", "   $$", "```", "| a |", "|---|", "1. one", "= d", "    indented", "[a]: https://a.example",
    ); // biome-ignore format: a list
    fc.assert(
      fc.property(fc.array(lines, { maxLength: 12 }), (all) => {
        const text = all.join("\n");
        const same = (s: string) => html(s).replaceAll(/\s+/g, "");
        expect(blocksOf(text).map(same).join("")).toBe(same(text));
      }),
      { numRuns: 3_000 },
    );
  });

  test("that never close cost no more than reading them a bounded number of times", () => {
    expect(formulas("$a ".repeat(20_000))).toEqual([]);
    expect(formulas("\\(a ".repeat(20_000))).toEqual([]);
    expect(formulas("$$a$$ ".repeat(300))).toHaveLength(300);
  });
});
