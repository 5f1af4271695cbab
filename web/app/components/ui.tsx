import { type ComponentProps, type ReactNode, useEffect, useId, useRef, useState } from "react";
import { PerdureError } from "../../client/src/index";
import type { Shown, Tone } from "../fold/status";
import { AlertIcon, CheckIcon, CopyIcon } from "./icons";

type ButtonLook = "primary" | "plain" | "quiet" | "danger";

const looks: Record<ButtonLook, string> = {
  primary: "bg-accent text-accent-ink border-transparent hover:brightness-110 shadow-sm",
  plain: "bg-surface text-ink border-line-strong hover:bg-sunken",
  quiet: "bg-transparent text-soft border-transparent hover:bg-sunken hover:text-ink",
  danger: "bg-surface text-bad border-line-strong hover:bg-bad-soft",
};

export const buttonClass = (look: ButtonLook = "plain", more = "") =>
  `inline-flex items-center justify-center gap-1.5 rounded-lg border px-3 h-9 text-sm font-medium whitespace-nowrap
   transition-colors disabled:opacity-50 disabled:cursor-not-allowed ${looks[look]} ${more}`;

export function Button({
  look = "plain",
  className = "",
  ...rest
}: ComponentProps<"button"> & { look?: ButtonLook }) {
  return <button type="button" className={buttonClass(look, className)} {...rest} />;
}

export function IconButton({ label, className = "", ...rest }: ComponentProps<"button"> & { label: string }) {
  return (
    <button
      type="button"
      aria-label={label}
      title={label}
      className={`inline-flex size-9 items-center justify-center rounded-lg text-soft hover:bg-sunken hover:text-ink
        transition-colors disabled:opacity-50 ${className}`}
      {...rest}
    />
  );
}

const tones: Record<Tone, string> = {
  busy: "bg-busy-soft text-busy",
  good: "bg-good-soft text-good",
  warn: "bg-warn-soft text-warn",
  bad: "bg-bad-soft text-bad",
  idle: "bg-sunken text-soft",
};

export function StatusBadge({ shown }: { shown: Shown }) {
  return (
    <span
      data-busy={shown.busy}
      title={shown.label}
      className={`inline-flex h-6 max-w-[min(100%,11rem)] items-center gap-1.5 rounded-full px-2.5 text-xs font-medium whitespace-nowrap ${tones[shown.tone]}`}
    >
      <span
        className={`size-1.5 shrink-0 rounded-full bg-current ${shown.busy ? "breathe" : ""}`}
        aria-hidden="true"
      />
      <span className="truncate">{shown.label}</span>
    </span>
  );
}

export function Chip({ children, title }: { children: ReactNode; title?: string | undefined }) {
  return (
    <span
      title={title}
      className="inline-flex h-6 max-w-full items-center truncate rounded-md border border-line bg-sunken px-2 font-mono text-xs text-soft"
    >
      {children}
    </span>
  );
}

export function Spinner({ label = "Loading" }: { label?: string }) {
  return (
    <span role="status" className="inline-flex items-center gap-2 text-sm text-faint">
      <span
        aria-hidden="true"
        className="size-4 animate-spin rounded-full border-2 border-line-strong border-t-accent"
      />
      {label}
    </span>
  );
}

/** Grey placeholders for rows that are being loaded. */
export function Skeleton({ rows = 5 }: { rows?: number }) {
  return (
    <div role="status" aria-label="Loading" className="animate-pulse">
      {Array.from({ length: rows }, (_, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: all elements are equal
        <div key={i} className="flex items-center gap-4 border-b border-line px-4 py-4 last:border-0">
          <div className="h-4 w-20 rounded bg-line" />
          <div className="h-4 flex-1 rounded bg-line" />
          <div className="hidden h-4 w-24 rounded bg-line sm:block" />
        </div>
      ))}
    </div>
  );
}

export function Empty({
  title,
  children,
  action,
}: {
  title: string;
  children?: ReactNode;
  action?: ReactNode;
}) {
  return (
    <div className="flex flex-col items-center px-6 py-14 text-center">
      <h2 className="text-base font-semibold">{title}</h2>
      <div className="mt-1 max-w-md text-sm text-faint">{children}</div>
      {action && <div className="mt-5">{action}</div>}
    </div>
  );
}

/** Shows an error and what to do about it. */
export function Banner({
  tone,
  title,
  children,
  action,
}: {
  tone: "bad" | "warn" | "idle";
  title: string;
  children?: ReactNode;
  action?: ReactNode;
}) {
  return (
    <div
      role={tone === "bad" ? "alert" : "status"}
      className={`flex items-start gap-3 rounded-xl px-4 py-3 text-sm ${tones[tone]}`}
    >
      <AlertIcon className="mt-0.5 size-4" />
      <div className="min-w-0 flex-1">
        <p className="font-semibold">{title}</p>
        {children && <div className="mt-0.5 text-ink [overflow-wrap:anywhere]">{children}</div>}
      </div>
      {action}
    </div>
  );
}

const advice: Record<string, string> = {
  unavailable: "The server does not answer, or cannot do this now. Check that it is running, and try again.",
  permission_denied: "Your key may not do this. Sign in with a key of role admin.",
  not_found: "It does not exist, or belongs to another org than your key.",
  rate_limited: "Too many requests, or a limit of your key is reached. Try again later.",
  conflict: "Somebody else has changed it. Load it again before you change it.",
  execution_ended: "The run has ended. Start a new one.",
};

export function ErrorBanner({ error, what, retry }: { error: unknown; what: string; retry?: () => void }) {
  const known = error instanceof PerdureError ? error : null;
  return (
    <Banner tone="bad" title={what} action={retry && <Button onClick={retry}>Try again</Button>}>
      <p>{known?.message ?? String((error as Error)?.message ?? error)}</p>
      {known && advice[known.code] && <p className="mt-1 text-soft">{advice[known.code]}</p>}
    </Banner>
  );
}

export function Field({
  label,
  hint,
  error,
  children,
}: {
  label: string;
  hint?: ReactNode;
  error?: string | undefined;
  children: (props: {
    id: string;
    "aria-describedby": string | undefined;
    "aria-invalid": boolean;
  }) => ReactNode;
}) {
  const id = useId();
  const about = error || hint ? `${id}-about` : undefined;
  return (
    <div>
      <label htmlFor={id} className="mb-1.5 block text-sm font-medium">
        {label}
      </label>
      {children({ id, "aria-describedby": about, "aria-invalid": Boolean(error) })}
      {about && (
        <p id={about} className={`mt-1.5 text-xs ${error ? "text-bad" : "text-faint"}`}>
          {error ?? hint}
        </p>
      )}
    </div>
  );
}

/** The style of a field of any width. inputClass adds the full width. */
export const inputLook =
  "min-h-9.5 min-w-0 rounded-lg border border-line-strong bg-surface px-3 py-2 text-sm text-ink transition-colors " +
  "hover:border-faint focus:border-accent focus:outline-2 focus:outline-offset-0 focus:outline-accent/40 aria-invalid:border-bad";
export const inputClass = `${inputLook} w-full`;

export function Card({
  title,
  children,
  actions,
}: {
  title?: string;
  children: ReactNode;
  actions?: ReactNode;
}) {
  return (
    <section className="rounded-xl border border-line bg-surface">
      {title && (
        <header className="flex items-center justify-between gap-3 border-b border-line px-5 py-3">
          <h2 className="text-sm font-semibold">{title}</h2>
          {actions}
        </header>
      )}
      <div className="p-5">{children}</div>
    </section>
  );
}

export function CopyButton({ text, label = "Copy" }: { text: string; label?: string }) {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), 1_500);
    return () => clearTimeout(timer);
  }, [copied]);
  const copy = () => {
    void navigator.clipboard?.writeText(text).then(() => setCopied(true));
  };
  return (
    <IconButton label={copied ? "Copied" : label} className="size-7" onClick={copy}>
      {copied ? <CheckIcon className="size-3.5" /> : <CopyIcon className="size-3.5" />}
    </IconButton>
  );
}

/** Asks for confirmation before an action that cannot be undone. */
export function Confirm({
  open,
  title,
  children,
  action,
  keep = "Keep it",
  busy = false,
  onConfirm,
  onClose,
}: {
  open: boolean;
  title: string;
  children: ReactNode;
  action: string;
  keep?: string;
  busy?: boolean;
  onConfirm: () => void;
  onClose: () => void;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (open && !dialog.current?.open) dialog.current?.showModal();
    if (!open) dialog.current?.close();
  }, [open]);
  const id = useId();
  return (
    <dialog
      ref={dialog}
      aria-labelledby={id}
      onClose={onClose}
      className="m-auto w-[min(26rem,calc(100vw-2rem))] rounded-2xl border border-line bg-raised p-6 text-ink shadow-xl"
    >
      <h2 id={id} className="text-base font-semibold">
        {title}
      </h2>
      <div className="mt-2 text-sm text-soft">{children}</div>
      <div className="mt-6 flex justify-end gap-2">
        <Button onClick={onClose}>{keep}</Button>
        <Button look="danger" onClick={onConfirm} disabled={busy}>
          {action}
        </Button>
      </div>
    </dialog>
  );
}
