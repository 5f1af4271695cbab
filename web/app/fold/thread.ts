import { fromThreadMessageLike, type ThreadMessage, type ThreadMessageLike } from "@assistant-ui/react";
import {
  fileText,
  type ImageView,
  type MessageView,
  type Part,
  type PartView,
  partsOfPrompt,
} from "../../client/src/index";
import type { Row } from "./rows";

type Piece = Exclude<ThreadMessageLike["content"], string>[number];

const images = /^image\/(?:png|jpeg|gif|webp|avif)$/;
const complete = { type: "complete", reason: "stop" } as const;
const made = new WeakMap<Row, ThreadMessage>();

/** Converts a row to a message of assistant-ui. The same row returns the same message. */
export function threadMessageOf(row: Row): ThreadMessage {
  let message = made.get(row);
  if (!message) {
    message = fromThreadMessageLike(likeOf(row), row.id, complete);
    made.set(row, message);
  }
  return message;
}

/**
 * Converts a range of rows to a repository of assistant-ui. The parent of each message is the
 * previous one; the last message is the head.
 */
export function repositoryOf(rows: readonly Row[]) {
  return {
    headId: rows.at(-1)?.id ?? null,
    messages: rows.map((row, i) => ({ message: threadMessageOf(row), parentId: rows[i - 1]?.id ?? null })),
  };
}

function likeOf(row: Row): ThreadMessageLike {
  const custom = { kind: row.kind, of: row.of, unseen: row.kind === "message" && row.unseen };
  if (row.kind === "compaction") {
    return {
      id: row.id,
      role: "user",
      content: [{ type: "text", text: row.of.summary }],
      createdAt: new Date(row.of.createdAt),
      metadata: { custom },
    };
  }
  if (row.kind === "sent") {
    return {
      id: row.id,
      role: "user",
      content: partsOfPrompt(row.of).flatMap(userPiece),
      metadata: { custom },
    };
  }
  if (row.kind === "queued") {
    return { id: row.id, role: "user", content: row.of.parts.flatMap(userPiece), metadata: { custom } };
  }
  return fromMessage(row.of, custom);
}

function fromMessage(m: MessageView, custom: Record<string, unknown>): ThreadMessageLike {
  const createdAt = new Date(m.createdAt);
  if (m.role === "user") {
    const content = m.parts.flatMap((p): Piece[] =>
      p.type === "text" || p.type === "image" || p.type === "file" ? piece(p) : [],
    );
    return { id: m.id, role: "user", content, createdAt, metadata: { custom } };
  }
  const status = m.stored ? complete : ({ type: "running" } as const);
  return {
    id: m.id,
    role: "assistant",
    content: m.parts.flatMap(piece),
    createdAt,
    status,
    metadata: { custom },
  };
}

function piece(p: PartView): Piece[] {
  switch (p.type) {
    case "text":
      return [{ type: "text", text: p.text }];
    case "thinking":
      return [{ type: "reasoning", text: p.text }];
    case "image":
      return image(p);
    case "file":
      return [{ type: "text", text: p.text }];
    case "toolCall":
      return [
        {
          type: "tool-call",
          toolCallId: p.id,
          toolName: p.name,
          args: {}, // the card reads the arguments itself while they are written
          argsText: p.rawArguments,
          artifact: p,
          ...(p.result ? { result: p.result.parts, isError: p.result.isError } : {}),
        },
      ];
  }
}

function userPiece(p: Part): Piece[] {
  if (p.type === "text") return [{ type: "text", text: p.text }];
  if (p.type === "file" || (p.type === "image" && "url" in p)) return [{ type: "text", text: fileText(p) }];
  return p.type === "image" ? image(p) : [];
}

/** Accepts only image types, whatever type the sender claims. */
function image(p: Pick<ImageView, "data" | "mimeType">): Piece[] {
  if (!images.test(p.mimeType)) return [{ type: "text", text: `[image of type ${p.mimeType}]` }];
  return [{ type: "image", image: `data:${p.mimeType};base64,${p.data}` }];
}
