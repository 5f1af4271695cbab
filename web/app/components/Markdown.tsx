import { memo, useMemo } from "react";
import ReactMarkdown, { type Components } from "react-markdown";
import remarkGfm from "remark-gfm";
import { blocksOf } from "../text/blocks";
import { safeUrl } from "./safeUrl";
import { CopyButton } from "./ui";

const plugins = [remarkGfm];

const components: Components = {
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
  pre: ({ children, node }) => (
    <div className="group relative">
      <pre tabIndex={0}>{children}</pre>
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
};

interface HastNode {
  value?: string;
  children?: HastNode[];
}

function textOf(node: unknown): string {
  const n = (node ?? {}) as HastNode;
  return n.value ?? (n.children ?? []).map(textOf).join("");
}

const Block = memo(function Block({ text }: { text: string }) {
  return (
    <ReactMarkdown remarkPlugins={plugins} components={components} urlTransform={safeUrl}>
      {text}
    </ReactMarkdown>
  );
});

/**
 * Shows markdown from a model. HTML in it is shown as text. While the text grows, only its last
 * block is parsed again.
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
