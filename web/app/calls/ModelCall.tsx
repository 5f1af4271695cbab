import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import type { ModelCall as Call } from "../../client/src/index";
import { api } from "../api/client";
import { Button, ErrorBanner, inputLook, Spinner } from "../components/ui";
import { cachedShare, count, money } from "../fold/usage";
import { Facts, Json } from "../run/panel/parts";
import { duration, size } from "../text/format";

/** The kind of the tasks that call models. */
export const modelCallKind = "llm-request";

/** A model call: what the model saw, whether that is what was sent, and what it answered. */
export function ModelCall({ run, call }: { run: string; call: string }) {
  const [open, setOpen] = useState(false);
  const found = useQuery({
    queryKey: ["run", run, "call", call],
    queryFn: ({ signal }) => api().modelCalls.get(run, call, signal),
    enabled: open,
  });
  if (!open) return <Button onClick={() => setOpen(true)}>Inspect the call</Button>;
  if (found.isError)
    return (
      <ErrorBanner error={found.error} what="The call cannot be shown" retry={() => void found.refetch()} />
    );
  if (!found.data) return <Spinner />;
  return (
    <section aria-label="Model call" className="space-y-3 rounded-lg border border-line p-3">
      <Summary of={found.data} />
      <Request of={found.data} />
      <Body run={run} call={call} provider={found.data.model.provider} />
    </section>
  );
}

function Summary({ of }: { of: Call }) {
  const usage = of.answer?.usage;
  const p = of.parameters;
  return (
    <>
      <p role="status" className={`text-sm ${of.prompt && !of.prompt.matches ? "text-warn" : "text-soft"}`}>
        {promptText(of.prompt)}
      </p>
      <Facts
        of={[
          ["Model", `${of.model.provider}/${of.model.modelId}`],
          ["Purpose", of.purpose],
          ["Tokens in", usage && count(usage.input + usage.cacheRead + usage.cacheWrite)],
          ["From the cache", usage && `${Math.round(100 * cachedShare(usage))} %`],
          ["Tokens out", usage && count(usage.output)],
          ["Cost", usage && money(of.cost?.total)],
          ["Took", of.latencyMs ? duration(of.latencyMs) : null],
          ["Stop reason", of.answer?.stopReason],
          ["Tokens at most", p.maxTokens],
          ["Temperature", p.temperature],
          ["Thinking", p.thinking],
          ["Tool choice", p.toolName ?? p.toolChoice],
          ["Left out", leftOutText(of)],
          ["System prompt", of.systemPromptBytes && `${size(of.systemPromptBytes)}, too large to show here`],
          ["Answer", of.answerBytes && `${size(of.answerBytes)}, too large to show here`],
        ]}
      />
    </>
  );
}

/** Says whether the prompt that is shown is the one that was sent. */
function promptText(prompt: Call["prompt"]): string {
  if (!prompt) return "No hash of the prompt is stored for this call.";
  if (prompt.matches) return `This is the prompt that was sent (${prompt.sha256.slice(0, 12)}).`;
  return "This is not quite the prompt that was sent: a tool, the conversation or the program has changed since.";
}

function leftOutText({ leftOut }: Call): string {
  const n = leftOut.reduce((sum, l) => sum + l.entries, 0);
  return n === 0 ? "" : `${n} earlier messages, which a summary stands for (compaction)`;
}

function Request({ of }: { of: Call }) {
  return (
    <div className="space-y-1">
      {of.systemPrompt && (
        <Fold title="System prompt">
          <p className="text-sm whitespace-pre-wrap [overflow-wrap:anywhere]">{of.systemPrompt}</p>
        </Fold>
      )}
      {of.tools.length > 0 && (
        <Fold title={`Tools (${of.tools.length})`}>
          {of.tools.map((t) => (
            <div key={t.name} className="mb-2 text-sm">
              <span className="font-mono text-[13px]">{t.name}</span>
              {t.description && <p className="text-xs text-faint">{t.description}</p>}
              <Json label={`Schema of ${t.name}`} value={t.schema ?? null} />
            </div>
          ))}
        </Fold>
      )}
      <Fold title={`Messages (${of.messages.length})`}>
        <ol aria-label="Messages" className="space-y-2">
          {of.messages.map((m, i) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the messages of a call never change
            <li key={i}>
              <p className="text-xs text-faint">
                {m.role}, {size(m.bytes)}
              </p>
              {m.parts === null ? (
                <p className="text-sm text-faint">Too large to show here.</p>
              ) : (
                <Parts of={m.parts} label={`Message ${i + 1}`} />
              )}
            </li>
          ))}
        </ol>
      </Fold>
      {of.answer && (
        <Fold title="Answer">
          <Parts of={of.answer.parts} label="Answer" />
        </Fold>
      )}
    </div>
  );
}

/** The parts of a message. A message of text alone is shown as such. */
function Parts({ of, label }: { of: unknown; label: string }) {
  const parts = (of ?? []) as { type?: string; text?: string }[];
  if (parts.every((p) => p.type === "text"))
    return (
      <p className="text-sm whitespace-pre-wrap [overflow-wrap:anywhere]">
        {parts.map((p) => p.text).join("\n")}
      </p>
    );
  return <Json label={label} value={of} />;
}

function Fold({ title, children }: { title: string; children: ReactNode }) {
  return (
    <details>
      <summary className="py-1 text-sm font-medium">{title}</summary>
      <div className="pb-2">{children}</div>
    </details>
  );
}

const providers = ["anthropic", "openai", "openai-responses", "gemini"];

/** The body of the request as a provider gets it. */
function Body({ run, call, provider }: { run: string; call: string; provider: string }) {
  const [as, setAs] = useState("");
  const body = useQuery({
    queryKey: ["run", run, "call", call, "request", as],
    queryFn: ({ signal }) => api().modelCalls.request(run, call, as, signal),
    enabled: as !== "",
  });
  return (
    <div className="space-y-2">
      <label className="flex items-center gap-2 text-sm">
        <span className="text-faint">Request as</span>
        <select value={as} onChange={(e) => setAs(e.target.value)} className={inputLook}>
          <option value="">choose a provider</option>
          {providers.map((p) => (
            <option key={p} value={p}>
              {p === provider ? `${p} (as sent)` : p}
            </option>
          ))}
        </select>
      </label>
      {body.isError && <ErrorBanner error={body.error} what="The request cannot be shown" />}
      {body.isFetching && <Spinner />}
      {body.data !== undefined && <Json label="Request body" value={body.data} />}
    </div>
  );
}
