import {
  AssistantRuntimeProvider,
  type ThreadMessage,
  ThreadPrimitive,
  useAuiState,
  useExternalStoreRuntime,
} from "@assistant-ui/react";
import { useVirtualizer, type Virtualizer } from "@tanstack/react-virtual";
import {
  type ReactNode,
  type RefObject,
  useCallback,
  useEffect,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from "react";
import { DownIcon } from "../components/icons";
import { useSlashKey } from "../components/slash";
import { IconButton, Spinner } from "../components/ui";
import type { Match } from "../fold/find";
import type { Row } from "../fold/rows";
import { repositoryOf } from "../fold/thread";
import { FindBar } from "./FindBar";
import { AssistantMessage, UserMessage } from "./Message";
import { matchIn, reveal, rowAt } from "./marks";

const components = { UserMessage, AssistantMessage };

/** The maximum distance to the end, in pixels, at which the reader counts as being at the end. */
const nearEnd = 60;
/** The distance to the beginning, in pixels, at which older events are requested. */
const nearStart = 800;
/**
 * The number of rows that assistant-ui holds before and after the rows in view. Each of them adds
 * to the cost of every change.
 */
const margin = 8;

export interface ConversationProps {
  rows: readonly Row[];
  hasOlder: boolean;
  loadingOlder: boolean;
  onOlder: () => void;
  onSend: (text: string) => void;
  /** Shown after the last row. */
  tail: ReactNode;
  /** Shown below the conversation: the input for the next message. */
  children: ReactNode;
  /** The search is open. */
  finding: boolean;
  onFinding: (open: boolean) => void;
}

/**
 * A conversation of any length. Only the rows in view are drawn, and only these and a margin are
 * passed to assistant-ui, whose costs grow with the number of its messages.
 */
export function Conversation(props: ConversationProps) {
  const { rows, onSend } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const ids = useIds(rows);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => 140,
    getItemKey: useCallback((i: number) => ids[i] ?? i, [ids]),
    overscan: 4,
    useFlushSync: false,
    paddingStart: 24,
  });
  useSlashKey(props.onFinding);
  const shown = virtual.getVirtualItems();
  // In steps, so that small scrolls pass no new rows.
  const first = Math.max(0, Math.floor((shown[0]?.index ?? 0) / margin) * margin - margin);
  const last = Math.ceil(((shown.at(-1)?.index ?? 0) + 1) / margin) * margin + margin;
  const runtime = useExternalStoreRuntime<ThreadMessage>({
    messageRepository: useMemo(() => repositoryOf(rows.slice(first, last)), [rows, first, last]),
    isRunning: false, // a message can be sent at any time; other components show what runs
    onNew: useCallback(
      async (message) => {
        const text = message.content.flatMap((p) => (p.type === "text" ? [p.text] : [])).join("\n");
        if (text.trim()) onSend(text);
      },
      [onSend],
    ),
  });
  return (
    <AssistantRuntimeProvider runtime={runtime}>
      <ThreadPrimitive.Root className="relative flex min-h-0 min-w-0 flex-1 flex-col">
        <Scroller {...props} scroller={scroller} virtual={virtual} />
        {props.children}
      </ThreadPrimitive.Root>
    </AssistantRuntimeProvider>
  );
}

/**
 * Returns the rows' ids. The list is the same object as long as the ids are the same, even if rows
 * grow.
 */
function useIds(rows: readonly Row[]): readonly string[] {
  const before = useRef<readonly string[]>([]);
  return useMemo(() => {
    const held = before.current;
    const same = held.length === rows.length && rows.every((row, i) => row.id === held[i]);
    if (!same) before.current = rows.map((row) => row.id);
    return before.current;
  }, [rows]);
}

function Scroller({
  rows,
  hasOlder,
  loadingOlder,
  onOlder,
  tail,
  finding,
  onFinding,
  scroller,
  virtual,
}: ConversationProps & {
  scroller: RefObject<HTMLDivElement | null>;
  virtual: Virtualizer<HTMLDivElement, Element>;
}) {
  const anchor = useAnchor(rows, scroller, virtual, hasOlder ? onOlder : undefined, tail);
  const { away, onScroll, toEnd, toMatch } = anchor;
  const [shownMatch, setShownMatch] = useState<string | null>(null);
  const onFound = useCallback(
    (match: Match | null, text: string) => {
      setShownMatch(match?.id ?? null);
      if (match) toMatch(match, text);
    },
    [toMatch],
  );
  const close = useCallback(() => onFinding(false), [onFinding]);
  return (
    <div className="relative flex min-h-0 flex-1 flex-col">
      {finding && (
        <FindBar
          rows={rows}
          hasOlder={hasOlder}
          loadingOlder={loadingOlder}
          onOlder={onOlder}
          onFound={onFound}
          onClose={close}
          scroller={scroller}
        />
      )}
      <div
        ref={scroller}
        onScroll={onScroll}
        role="log"
        aria-label="Conversation"
        aria-live="off"
        tabIndex={0}
        className="min-h-0 flex-1 overflow-y-auto overscroll-contain [overflow-anchor:none] focus-visible:-outline-offset-2"
      >
        {(hasOlder || loadingOlder) && (
          <div className="flex h-12 items-center justify-center">
            {loadingOlder ? <Spinner label="Loading what was before" /> : null}
          </div>
        )}
        <div className="relative mx-auto w-full max-w-3xl" style={{ height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map((item) => (
            <div
              key={item.key}
              ref={virtual.measureElement}
              data-index={item.index}
              data-found={item.key === shownMatch || undefined}
              className="absolute inset-x-0 top-0 px-4 pb-6 data-found:before:absolute data-found:before:inset-x-1 data-found:before:-top-3 data-found:before:bottom-3 data-found:before:rounded-xl data-found:before:border-2 data-found:before:border-accent sm:px-6"
              style={{ transform: `translateY(${item.start}px)` }}
            >
              <Slot id={String(item.key)} />
            </div>
          ))}
        </div>
        <div className="mx-auto w-full max-w-3xl px-4 pb-6 sm:px-6">{tail}</div>
      </div>
      {away && (
        <IconButton
          label="Go to the end"
          onClick={toEnd}
          className="absolute bottom-3 left-1/2 -translate-x-1/2 rounded-full border border-line bg-raised shadow-md"
        >
          <DownIcon />
        </IconButton>
      )}
    </div>
  );
}

/** A row, or its placeholder until assistant-ui has the row. */
function Slot({ id }: { id: string }) {
  const here = useAuiState((s) => s.thread.messages.some((m) => m.id === id));
  if (!here) return <div className="h-28" data-place />;
  return <ThreadPrimitive.Unstable_MessageById messageId={id} components={components} />;
}

/**
 * Keeps the view at the end while the conversation grows, unless the reader has scrolled up. Keeps
 * the reader's position when older rows are added before it, and requests older rows.
 */
function useAnchor(
  rows: readonly Row[],
  scroller: RefObject<HTMLDivElement | null>,
  virtual: Virtualizer<HTMLDivElement, Element>,
  onOlder: (() => void) | undefined,
  tail: ReactNode,
) {
  const [away, setAway] = useState(false);
  const pinned = useRef(true);
  const top = useRef(0);
  const first = useRef<string | undefined>(undefined);
  const size = virtual.getTotalSize();
  const height = virtual.scrollRect?.height;

  // biome-ignore lint/correctness/useExhaustiveDependencies: runs after every change that moves the end
  useLayoutEffect(() => {
    const box = scroller.current;
    if (!box) return;
    const before = first.current;
    first.current = rows[0]?.id;
    if (pinned.current) {
      box.scrollTop = box.scrollHeight;
      return;
    }
    if (before === undefined || before === first.current) return;
    const i = rows.findIndex((r) => r.id === before);
    const at = virtual.measurementsCache[i]?.start;
    if (i > 0 && at !== undefined) box.scrollTop += at - 24;
  }, [rows, size, height, tail, scroller, virtual]);

  const onScroll = useCallback(() => {
    const box = scroller.current;
    if (!box) return;
    const rest = box.scrollHeight - box.scrollTop - box.clientHeight;
    if (rest < nearEnd) pinned.current = true;
    else if (box.scrollTop < top.current - 1) pinned.current = false;
    top.current = box.scrollTop;
    setAway(!pinned.current && rest > 300);
    if (box.scrollTop < nearStart) onOlder?.();
  }, [scroller, onOlder]);

  // If the first page does not fill the screen, the reader cannot scroll to request more.
  useLayoutEffect(() => {
    const box = scroller.current;
    if (box && size < box.clientHeight) onOlder?.();
  }, [scroller, size, onOlder]);

  const toEnd = useCallback(() => {
    pinned.current = true;
    setAway(false);
    const box = scroller.current;
    if (box) box.scrollTop = box.scrollHeight;
  }, [scroller]);
  return { away, onScroll, toEnd, toMatch: useToMatch(rows, scroller, virtual, pinned) };
}

/** How often, and with what pause in milliseconds, a jump is repeated until its match stays in view. */
const jumps = 30;
const jumpPause = 50;

/**
 * Returns a function that shows a match. Rows that are drawn for the first time move the others, so it
 * looks until the match has stayed in view, or the reader scrolls.
 */
function useToMatch(
  rows: readonly Row[],
  scroller: RefObject<HTMLDivElement | null>,
  virtual: Virtualizer<HTMLDivElement, Element>,
  pinned: RefObject<boolean>,
) {
  const held = useRef(rows);
  held.current = rows;
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => {
    const box = scroller.current;
    const stop = () => clearTimeout(timer.current);
    for (const by of ["wheel", "touchmove", "keydown"]) box?.addEventListener(by, stop, { passive: true });
    return () => {
      stop();
      for (const by of ["wheel", "touchmove", "keydown"]) box?.removeEventListener(by, stop);
    };
  }, [scroller]);
  return useCallback(
    ({ id, n }: Match, text: string) => {
      const look = (left: number, stayed: number) => {
        const i = held.current.findIndex((r) => r.id === id);
        const box = scroller.current;
        if (i < 0 || left === 0 || !box) return;
        pinned.current = false;
        const match = matchIn(rowAt(box, i), text, n);
        const revealed = match ? reveal(match, box) : undefined;
        const stays = revealed ?? isInView(box, i);
        if (revealed === undefined && !stays) virtual.scrollToIndex(i, { align: "center" });
        if (stayed < 4) timer.current = setTimeout(() => look(left - 1, stays ? stayed + 1 : 0), jumpPause);
      };
      clearTimeout(timer.current);
      look(jumps, 0);
    },
    [scroller, virtual, pinned],
  );
}

function isInView(box: HTMLElement, index: number): boolean {
  const row = rowAt(box, index)?.getBoundingClientRect();
  if (!row) return false;
  const seen = box.getBoundingClientRect();
  return row.bottom > seen.top + 20 && row.top < seen.bottom - 20;
}
