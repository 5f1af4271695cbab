import { ComposerPrimitive, useAui } from "@assistant-ui/react";
import { Link } from "@tanstack/react-router";
import { type FormEvent, memo, type RefObject, useRef, useState } from "react";
import type { ExecutionView, ImagePart } from "../../client/src/index";
import { CloseIcon, ImageIcon, SendIcon } from "../components/icons";
import { buttonClass, IconButton } from "../components/ui";
import { imageTypes, readImages } from "../text/images";
import { useRun } from "./context";

/**
 * The input for messages. A message steers a run that works, and continues a run that waits.
 * `input` is null if the run accepts no message, and undefined while that is unknown.
 */
export const Composer = memo(function Composer({
  input,
  asks,
  ended,
}: {
  input: ExecutionView["input"] | undefined;
  /** The run waits for an answer. A message withdraws its questions. */
  asks: boolean;
  ended: boolean;
}) {
  const { images, problem, add, remove, clear } = useImages();
  const send = useSendWithImages(images, clear);
  if (ended) return <Over />;
  const hint = hintOf(input, asks);
  return (
    <div className="mx-auto w-full max-w-3xl px-4 pb-4 sm:px-6 sm:pb-5">
      {problem && (
        <p role="alert" className="mb-2 px-2 text-sm text-bad">
          {problem}
        </p>
      )}
      <ComposerPrimitive.Root
        onSubmit={send}
        onDragOver={(e) => e.preventDefault()}
        onDrop={(e) => {
          e.preventDefault();
          add([...e.dataTransfer.files]);
        }}
        onPaste={(e) => {
          const files = [...e.clipboardData.files];
          if (files.length === 0) return;
          e.preventDefault();
          add(files);
        }}
        className="rounded-2xl border border-line-strong bg-surface p-2 shadow-sm transition-shadow focus-within:border-accent focus-within:ring-3 focus-within:ring-accent/20"
      >
        <Attached images={images} onRemove={remove} />
        <div className="flex items-end gap-2">
          <Pick disabled={input === null} onPick={add} />
          <ComposerPrimitive.Input
            aria-label="Message to the agent"
            placeholder={hint || "…"}
            disabled={input === null}
            maxRows={12}
            minRows={1}
            autoFocus
            addAttachmentOnPaste={false}
            className="max-h-72 min-h-9 flex-1 resize-none bg-transparent px-1 py-1.5 outline-none disabled:opacity-60"
          />
          {images.length > 0 ? (
            <button type="submit" aria-label="Send" title="Send (Enter)" className={sendClass}>
              <SendIcon />
            </button>
          ) : (
            <ComposerPrimitive.Send aria-label="Send" title="Send (Enter)" className={sendClass}>
              <SendIcon />
            </ComposerPrimitive.Send>
          )}
        </div>
      </ComposerPrimitive.Root>
      <p className="mt-1.5 px-2 text-xs text-faint max-sm:hidden">
        Enter sends, Shift+Enter starts a new line. Images can be pasted or dropped.{" "}
        {asks
          ? "A message withdraws the open questions."
          : input === "steer" && "The agent reads it before its next model call."}
      </p>
    </div>
  );
});

function hintOf(input: ExecutionView["input"] | undefined, asks: boolean): string {
  if (input === "follow_up") return "Reply to the agent…";
  if (input !== "steer") return "";
  return asks ? "Answer above, or write…" : "Steer the agent while it works…";
}

const sendClass =
  "inline-flex size-9 shrink-0 items-center justify-center rounded-xl bg-accent text-accent-ink transition hover:brightness-110 disabled:bg-line-strong disabled:text-surface";

/** The images of the message being written, and the reason why an image was rejected. */
function useImages() {
  const [images, setImages] = useState<readonly ImagePart[]>([]);
  const [problem, setProblem] = useState<string | null>(null);
  const add = (files: readonly File[]) => {
    void readImages(files, images)
      .then((read) => {
        setImages((held) => [...held, ...read.images]);
        setProblem(read.problem);
      })
      .catch(() => setProblem("The file could not be read. Pick it again."));
  };
  const change = (next: readonly ImagePart[]) => {
    setImages(next);
    setProblem(null);
  };
  return {
    images,
    problem,
    add,
    remove: (image: ImagePart) => change(images.filter((i) => i !== image)),
    clear: () => change([]),
  };
}

/** Sends text and images together. Text without images is left to assistant-ui. */
function useSendWithImages(images: readonly ImagePart[], sent: () => void) {
  const { live } = useRun();
  const aui = useAui();
  return (e: FormEvent) => {
    if (images.length === 0) return;
    e.preventDefault();
    live.send(aui.composer().getState().text, images);
    aui.composer().setText("");
    sent();
  };
}

function Attached({
  images,
  onRemove,
}: {
  images: readonly ImagePart[];
  onRemove: (image: ImagePart) => void;
}) {
  if (images.length === 0) return null;
  return (
    <ul aria-label="Images of the message" className="mb-2 flex flex-wrap gap-2">
      {images.map((image, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the same image can occur twice
        <li key={i} className="relative">
          <img
            src={`data:${image.mimeType};base64,${image.data}`}
            alt={`To be sent, number ${i + 1}`}
            className="size-16 rounded-lg border border-line object-cover"
          />
          <IconButton
            label={`Remove image ${i + 1}`}
            onClick={() => onRemove(image)}
            className="absolute -top-1.5 -right-1.5 size-6 rounded-full border border-line bg-raised"
          >
            <CloseIcon className="size-3" />
          </IconButton>
        </li>
      ))}
    </ul>
  );
}

function Pick({ disabled, onPick }: { disabled: boolean; onPick: (files: readonly File[]) => void }) {
  const file: RefObject<HTMLInputElement | null> = useRef(null);
  return (
    <>
      <input
        ref={file}
        type="file"
        accept={imageTypes.join(",")}
        multiple
        hidden
        onChange={(e) => {
          onPick([...(e.target.files ?? [])]);
          e.target.value = ""; // allows the same file to be picked again
        }}
      />
      <IconButton label="Attach images" disabled={disabled} onClick={() => file.current?.click()}>
        <ImageIcon className="size-5" />
      </IconButton>
    </>
  );
}

function Over() {
  return (
    <div className="mx-auto mb-4 flex w-full max-w-3xl px-4 sm:px-6">
      <div className="flex flex-1 items-center justify-between gap-3 rounded-2xl border border-line bg-surface px-4 py-3">
        <p className="text-sm text-faint">This run has ended and takes no more messages.</p>
        <Link to="/ai/runs/new" search={{}} className={buttonClass()}>
          New run
        </Link>
      </div>
    </div>
  );
}
