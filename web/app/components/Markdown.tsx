import type { Element, Root } from "hast";
import { memo, type ReactNode, useMemo } from "react";
import ReactMarkdown, { type Components } from "react-markdown";
import remarkGfm from "remark-gfm";
import { blocksOf } from "../text/blocks";
import { isClosed, languageOf } from "../text/code";
import { remarkFormulas } from "../text/mathSyntax";
import { Code } from "./Code";
import { Formula } from "./Formula";
import { safeUrl } from "./safeUrl";
import { CopyButton } from "./ui";

const components = {
  tex: ({ node }) => <Formula source={textOf(node)} />,
  a: ({ href, children }) =>
    href ? (
      <a href={href} target="_blank" rel="noopener noreferrer nofollow">
        {children}
      </a>
    ) : (
      <span>{children}</span>
    ),
  img: ({ src, alt }) =>
    src ? (
      <img src={src} alt={alt ?? ""} loading="lazy" />
    ) : (
      <span className="text-faint">[image: {alt}]</span>
    ),
  table: ({ children }) => (
    <div className="scrolled" tabIndex={0} role="group" aria-label="Table">
      <table>{children}</table>
    </div>
  ),
  pre: ({ node }) => (
    <div className="group relative">
      <pre tabIndex={0}>
        <code>
          <Code text={textOf(node)} language={String(node?.data?.language ?? "")} />
        </code>
      </pre>
      <div className="absolute top-1.5 right-1.5 opacity-0 transition-opacity group-focus-within:opacity-100 group-hover:opacity-100">
        <CopyButton text={textOf(node)} label="Copy code" />
      </div>
    </div>
  ),
  input: ({ checked }) => (
    <input
      type="checkbox"
      checked={Boolean(checked)}
      readOnly
      disabled
      aria-label={checked ? "done" : "to do"}
    />
  ),
} as Components & { tex: (props: { node?: Element }) => ReactNode };

interface HastNode {
  value?: string;
  children?: HastNode[];
}

declare module "hast" {
  interface ElementData {
    /** The language of a code block that has ended. */
    language?: string;
  }
}

/** Marks the code blocks that have ended with their language. A block that still grows has none. */
function markLanguages(source: string) {
  return (tree: Root) => {
    const visit = (node: Root | Element) => {
      for (const child of node.children) {
        if (child.type !== "element") continue;
        const [code] = child.children;
        if (child.tagName === "pre" && code?.type === "element") {
          const [from, to] = [code.position?.start.offset, code.position?.end.offset];
          if (from !== undefined && isClosed(source.slice(from, to)))
            child.data = { ...child.data, language: languageOf(code.properties.className) };
        } else visit(child);
      }
    };
    visit(tree);
  };
}

function textOf(node: unknown): string {
  const n = (node ?? {}) as HastNode;
  return n.value ?? (n.children ?? []).map(textOf).join("");
}

const Block = memo(function Block({ text }: { text: string }) {
  return (
    <ReactMarkdown
      remarkPlugins={[remarkGfm, [remarkFormulas, text]]}
      rehypePlugins={[[markLanguages, text]]}
      components={components}
      urlTransform={safeUrl}
    >
      {text}
    </ReactMarkdown>
  );
});

/**
 * Shows markdown from a model, with formulas and code in colours. HTML in it is shown as text. While
 * the text grows, only its last block is parsed again.
 */
export function Markdown({ text }: { text: string }) {
  const blocks = useMemo(() => blocksOf(text), [text]);
  return (
    <div className="prose">
      {blocks.map((block, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: pieces only grow at the end
        <Block key={i} text={block} />
      ))}
    </div>
  );
}
