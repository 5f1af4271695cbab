import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, test } from "vitest";
import { coloured } from "../components/colours";
import { drawnFormula } from "../components/mathml";
import { isClosed, languageOf } from "../text/code";

const html = (node: React.ReactNode) => renderToStaticMarkup(createElement("p", null, node));

describe("code", () => {
  test.each([
    "go",
    "ts",
    "js",
    "py",
    "sh",
    "json",
    "yml",
    "sql",
    "html",
    "css",
    "rs",
    "java",
    "c++",
    "diff",
    "md",
    "toml",
  ])("in %s has colours", (language) => expect(coloured("// x", language)).not.toBeNull());
  test("keeps its text, and markup in it is text", () => {
    const code = 'const a = "<img src=x onerror=alert(1)>"; // <script>';
    const shown = html(coloured(code, "ts"));
    expect(shown).toContain('<span class="hljs-keyword">const</span>');
    expect(shown).toContain("&lt;img src=x onerror=alert(1)&gt;");
    expect(shown).not.toMatch(/<(?!\/?(?:p|span)\b)/);
    expect(coloured("x", "no-such-language")).toBeNull();
  });
  test("is closed by a fence that is at least as long", () => {
    expect(["```go\nx\n```", "~~~\nx\n~~~~", "```\nx\n> ```"].map(isClosed)).toEqual([true, true, true]);
    expect(["```go\nx", "```go\nx\n``", "````\n```", "```", "```\n~~~", "    x"].map(isClosed)).toEqual(
      Array(6).fill(false),
    );
  });
  test("has the language of its class", () => {
    expect(languageOf(["a", "language-Go"])).toBe("go");
    expect(languageOf(undefined)).toBe("");
  });
});

describe("a formula", () => {
  const drawn = (tex: string, display = false) => drawnFormula({ tex, display });
  test.each([
    "x^2",
    "\\frac{a}{b}",
    "\\begin{aligned}a &= b \\\\ c &= d\\end{aligned}",
    "\\sqrt[3]{x}",
    "\\text{if } x",
  ])("%s is MathML", (tex) => expect(html(drawn(tex, true))).toMatch(/^<p><math /));
  test.each([
    ["that is wrong", "\\frac{"],
    ["of unknown commands", "\\nosuchcommand"],
    ["that expands without end", "\\def\\a{\\a\\a}\\a"],
    ["that is deep", `${"\\sqrt{".repeat(300)}x${"}".repeat(300)}`],
    ["that is long", "x^2+".repeat(3_000)],
    ["that moves over the page", "\\kern{-100em} x"],
  ])("%s is not drawn", (_, tex) => expect(drawn(tex)).toBeNull());
  test("has no links, images, classes or styles of its own", () => {
    for (const tex of [
      "\\href{javascript:alert(1)}{x}",
      "\\includegraphics{x.png}",
      "\\style{position:fixed}{x}",
      "\\id{main}{x}",
    ])
      expect(html(drawn(tex))).not.toMatch(/href|src|fixed|id="main"/);
  });
});
