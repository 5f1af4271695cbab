import fc from "fast-check";
import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import ReactMarkdown from "react-markdown";
import remarkGfm from "remark-gfm";
import { describe, expect, test } from "vitest";
import { safeUrl } from "../components/safeUrl";
import { ansi } from "../text/ansi";
import { blocksOf } from "../text/blocks";
import { browserName } from "../text/browser";
import { diffIn } from "../text/diff";
import { duration, titleOf } from "../text/format";

const html = (text: string) =>
  renderToStaticMarkup(createElement(ReactMarkdown, { remarkPlugins: [remarkGfm] }, text));
/** Removes white space, which may differ between blocks. The text itself is compared first. */
const same = (text: string) => html(text).replaceAll(/\s+/g, "");

describe("pieces of markdown", () => {
  const lines = fc.constantFrom(
    "", "", "plain words", "more words", "- item", "  - inner", "1. first", "2. second", "   going on", "    indented",
    "> said", "# Title", "```", "```go", "~~~", "| a | b |", "|---|---|", "| 1 | 2 |", "---", "**bold", "`code",
    "[a]: https://example.com", "[a]", "<div>", "</div>", "<!-- note", "-->", "* * *", "text  ", "\ttabbed",
  ); // biome-ignore format: a list

  test("mean together what the whole text means, whatever it is", () => {
    fc.assert(
      fc.property(fc.array(lines, { maxLength: 14 }), (all) => {
        const text = all.join("\n");
        const blocks = blocksOf(text);
        expect(blocks.join("\n")).toBe(text);
        expect(blocks.map(same).join("")).toBe(same(text));
      }),
      { numRuns: 2_000 },
    );
  });

  test("stay as they are while the text grows at its end", () => {
    const text = "# A\n\nOne.\n\n```go\na\n\nb\n```\n\n- x\n\n- y\n\nTwo.\n\nThree.";
    expect(blocksOf(text)).toEqual([
      "# A\n",
      "One.\n",
      "```go\na\n\nb\n```\n",
      "- x\n\n- y\n",
      "Two.\n",
      "Three.",
    ]);
    expect(blocksOf(`${text} And more.`).slice(0, -1)).toEqual(blocksOf(text).slice(0, -1));
  });
});

describe("addresses in what a model writes", () => {
  test.each([
    "javascript:alert(1)",
    " JaVaScRiPt:alert(1)",
    "java\nscript:alert(1)",
    "data:text/html,x",
    "vbscript:x",
    "file:///etc/passwd",
    "//evil.example",
    "/api/logout",
    "blob:x",
  ])("%s leads nowhere", (url) => expect(safeUrl(url, "href")).toBe(""));
  test("only the web, mail and places in the text are linked; only data: is drawn", () => {
    for (const url of ["https://a.example/x", "http://a.example", "mailto:a@b.example", "#part"])
      expect(safeUrl(url, "href")).toBe(url);
    expect(safeUrl("data:image/png;base64,AA", "src")).toBe("data:image/png;base64,AA");
    for (const url of ["https://a.example/pixel.png", "data:text/html,x", "/logo.png"])
      expect(safeUrl(url, "src")).toBe("");
  });
});

describe("terminal output", () => {
  test("colours are kept, in 16, 256 and 24 bits", () => {
    expect(ansi("\x1b[1;31mred\x1b[0m plain \x1b[38;5;208mo\x1b[39m\x1b[48;2;1;2;3mbg")).toEqual([
      { text: "red", bold: true, fg: 1 },
      { text: " plain " },
      { text: "o", fg: "#ff8700" },
      { text: "bg", bg: "#010203" },
    ]);
  });
  test("what moves, names or asks is not shown", () => {
    const text = (s: string) =>
      ansi(s)
        .map((p) => p.text)
        .join("");
    expect(text("a\x1b[2J\x1b[10;5Hb\x1b]0;title\x07c\x1b]8;;http://x\x1b\\d\x1b(Be\x07\b")).toBe("abcde");
    expect(text("cut \x1b[38;5")).toBe("cut ");
    expect(text("10%\r50%\r100%\ndone\r\nnext")).toBe("100%\ndone\nnext");
  });
  test("nothing but escape sequences and control characters is ever lost", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), (s) => {
        // biome-ignore lint/suspicious/noControlCharactersInRegex: these characters are removed
        const plain = s.replace(/[\x00-\x08\x0b-\x1f\x7f]/g, "");
        expect(
          ansi(plain)
            .map((p) => p.text)
            .join(""),
        ).toBe(plain);
      }),
    );
  });
});

test("a diff in an answer is told from what stands before it", () => {
  const diff = diffIn("edited a.go\n--- a.go\n+++ a.go\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n");
  expect(diff).toMatchObject({ lead: "edited a.go", added: 1, removed: 1 });
  expect(diff?.lines.map((l) => [l.kind, l.before, l.after, l.text])).toEqual([
    ["hunk", null, null, "@@ -1,3 +1,3 @@"],
    ["same", 1, 1, "one"],
    ["remove", 2, null, "two"],
    ["add", null, 2, "2"],
    ["same", 3, 3, "three"],
  ]);
  expect(diffIn("no diff\n- a list\n+ of things")).toBeNull();
});

test("lengths of time and titles are short", () => {
  expect([0, 999, 1_500, 61_000, 7_260_000].map(duration)).toEqual([
    "0 ms",
    "999 ms",
    "1.5 s",
    "1 min 1 s",
    "2 h 1 min",
  ]);
  expect(titleOf({ userPrompt: "first\nsecond" }, "k")).toBe("first");
  expect(titleOf(null, "my-agent")).toBe("my-agent");
});

test("browsers have the names that people know", () => {
  const chrome =
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36";
  expect(browserName(chrome)).toBe("Chrome on Linux");
  expect(browserName(`${chrome} Edg/130.0`)).toBe("Edge on Linux");
  expect(
    browserName("Mozilla/5.0 (Macintosh; Intel Mac OS X 14.1; rv:132.0) Gecko/20100101 Firefox/132.0"),
  ).toBe("Firefox on macOS");
  expect(browserName("curl/8.0")).toBe("curl/8.0");
  expect(browserName("")).toBe("Unknown");
});
