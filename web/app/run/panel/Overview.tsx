import { useQuery } from "@tanstack/react-query";
import type { AgentConfig, ModelConfig, Usage } from "../../../client/src/index";
import { runQuery, usageQuery } from "../../api/queries";
import { Ago } from "../../components/Ago";
import { Chip, CopyButton, ErrorBanner, Spinner, StatusBadge } from "../../components/ui";
import { chatKind, shownStatus } from "../../fold/status";
import { cachedShare, count, money, spent } from "../../fold/usage";
import { waitLine } from "../../fold/wait";
import { dateTime, duration } from "../../text/format";
import { Policies } from "../Policies";
import { Facts, Section } from "./parts";
import type { PanelProps } from "./SidePanel";

/** The status, the usage and the input of a run. */
export function Overview({ id, state }: PanelProps) {
  const { view } = state;
  const run = useQuery(runQuery(id, `${view.status} ${view.phase}`));
  const usage = useQuery(usageQuery(id, view.checkpoint));
  if (run.isError)
    return (
      <div className="p-4">
        <ErrorBanner error={run.error} what="The run cannot be read" />
      </div>
    );
  if (!run.data)
    return (
      <div className="p-4">
        <Spinner />
      </div>
    );
  const x = run.data;
  const chats = x.kind === chatKind;
  const stop = view.messages.findLast((m) => m.stopReason)?.stopReason;
  const took = x.startedAt ? Date.parse(x.completedAt ?? x.updatedAt) - Date.parse(x.startedAt) : null;
  return (
    <>
      <Section title="Status">
        <Facts
          of={[
            [
              "Status",
              <StatusBadge
                key="s"
                shown={shownStatus({ ...x, ...view, status: view.status ?? x.status }, view.phase)}
              />,
            ],
            [
              "Waits for",
              chats ? waitText(view.waitReason, view.wait?.timer) : view.wait && waitLine(view.wait),
            ],
            ["Last stop", view.running ? null : stop],
            ["Error", x.error && <span className="text-bad">{x.error}</span>],
            ["Started", x.startedAt && <Ago at={x.startedAt} />],
            ["Took", view.ended && took !== null ? duration(took) : null],
          ]}
        />
      </Section>
      {(chats || usage.data?.total) && (
        <Section title="Usage">
          <UsageTable byModel={usage.data?.byModel ?? {}} total={usage.data?.total ?? null} />
        </Section>
      )}
      {chats && <StartedWith input={x.input} />}
      {chats && x.approvals && (
        <Section title="What needs approval">
          <Policies of={x.approvals} />
        </Section>
      )}
      <Section title="Run">
        <Facts
          of={[
            [
              "Id",
              <span key="id" className="flex items-center gap-1 font-mono text-xs">
                {x.id}
                <CopyButton text={x.id} label="Copy the id" />
              </span>,
            ],
            ["Kind", x.kind],
            [
              "Workspace",
              <code key="w" className="font-mono text-xs">
                {x.workspace}
              </code>,
            ],
            ["Queue", x.queue],
            ["Content", x.persistenceMode === "LOCAL" ? "on its worker" : "on the server"],
            ["Created", dateTime(x.createdAt)],
            ["Events", x.maxSeq],
          ]}
        />
      </Section>
    </>
  );
}

/** What a conversation was started with. */
function StartedWith({ input: given }: { input: unknown }) {
  const input = (given ?? {}) as {
    models?: ModelConfig[];
    tools?: string[];
    config?: AgentConfig;
    systemPrompt?: string;
  };
  return (
    <Section title="Started with">
      <Facts
        of={[
          ["Models", <Chips key="m" of={(input.models ?? []).map((m) => `${m.provider}/${m.modelId}`)} />],
          ["Tools", <Chips key="t" of={input.tools ?? []} />],
          ["Turns at most", input.config?.maxTurns],
          ["Tokens at most", input.config?.maxTokens],
          ["Temperature", input.config?.temperature],
          ["Thinking", input.config?.thinking],
          ["Network of bash", input.config?.net],
          [
            "System prompt",
            input.systemPrompt && (
              <span className="line-clamp-6 whitespace-pre-wrap">{input.systemPrompt}</span>
            ),
          ],
        ]}
      />
    </Section>
  );
}

function waitText(reason: string | null, timer: string | undefined): string | null {
  if (reason === "signal") return "your message";
  if (reason === "question") return "an answer to a question";
  if (reason === "task") return "a model or a tool";
  if (reason === "timer") return timer ? dateTime(timer) : "a time";
  return null;
}

function Chips({ of }: { of: string[] }) {
  if (of.length === 0) return <span className="text-faint">none</span>;
  return (
    <span className="flex flex-wrap gap-1">
      {of.map((t) => (
        <Chip key={t}>{t}</Chip>
      ))}
    </span>
  );
}

function UsageTable({ byModel, total }: { byModel: Record<string, Usage>; total: Usage | null }) {
  const models = Object.entries(byModel);
  if (models.length === 0) return <p className="text-sm text-faint">No model call yet.</p>;
  return (
    <div className="overflow-x-auto">
      <table className="w-full text-sm tabular-nums">
        <thead className="text-xs text-faint">
          <tr>
            <th scope="col" className="pb-1 text-left font-normal">
              Model
            </th>
            <th scope="col" className="pb-1 text-right font-normal">
              In
            </th>
            <th scope="col" className="pb-1 text-right font-normal">
              Out
            </th>
            <th scope="col" className="pb-1 text-right font-normal">
              Cost
            </th>
          </tr>
        </thead>
        <tbody>
          {models.map(([model, u]) => (
            <UsageRow key={model} name={model} usage={u} cost={money(u.cost)} />
          ))}
        </tbody>
        {total && models.length > 1 && (
          <tfoot className="border-t border-line font-medium">
            <UsageRow name="Total" usage={total} cost={spent(total, byModel)} />
          </tfoot>
        )}
      </table>
    </div>
  );
}

function UsageRow({ name, usage: u, cost }: { name: string; usage: Usage; cost: string }) {
  return (
    <tr>
      <th scope="row" className="max-w-40 py-1 text-left font-normal [overflow-wrap:anywhere]">
        <span className="font-mono text-xs">{name}</span>
        <span className="block text-xs text-faint">
          {u.calls} {u.calls === 1 ? "call" : "calls"}
          {cachedShare(u) > 0 && `, ${Math.round(cachedShare(u) * 100)}% cached`}
        </span>
      </th>
      <td className="py-1 text-right align-top">{count(u.input + u.cacheRead + u.cacheWrite)}</td>
      <td className="py-1 text-right align-top">{count(u.output)}</td>
      <td className="py-1 text-right align-top">{cost}</td>
    </tr>
  );
}
