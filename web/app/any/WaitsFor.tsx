import { useQuery } from "@tanstack/react-query";
import type { ExecutionView, KindInfo } from "../../client/src/index";
import { kindsQuery } from "../api/queries";
import { Ago } from "../components/Ago";
import { Card } from "../components/ui";
import { declaredBy } from "../fold/signal";
import { type Names, signalsOf, type WaitWords, waitWords } from "../fold/wait";
import { OpenQuestions } from "../questions/OpenQuestions";
import { dateTime } from "../text/format";
import { SignalForm } from "./SignalForm";

/** Returns the signals that the agents of a kind register. */
export const signalsIn = (kinds: readonly KindInfo[] | undefined, kind: string) =>
  kinds?.find((k) => k.type === "agent" && k.kind === kind)?.signals;

/** What a run waits for now, with the forms that end the wait. */
export function WaitsFor({
  id,
  kind,
  view,
  names,
}: {
  id: string;
  kind: string;
  view: Pick<ExecutionView, "status" | "phase" | "wait">;
  names: Names;
}) {
  const kinds = useQuery(kindsQuery());
  const { status, phase, wait } = view;
  if (status !== "WAITING" || !wait) return null;
  const specs = signalsIn(kinds.data, kind);
  const spec = (name: string) => specs?.find((s) => s.name === name);
  return (
    <Card title="Waits for">
      <div className="space-y-4">
        <ul aria-label="What the run waits for" className="text-sm">
          <Condition of={waitWords(wait, names)} />
        </ul>
        <OpenQuestions run={id} at={`${status} ${phase}`} />
        {(kinds.data || kinds.isError) &&
          signalsOf(wait).map((name) => (
            <SignalForm
              key={name}
              run={id}
              name={name}
              spec={spec(name)}
              declared={declaredBy(kind, specs)}
            />
          ))}
      </div>
    </Card>
  );
}

function Condition({ of }: { of: WaitWords }) {
  return (
    <li>
      <span className={of.met ? "text-faint line-through" : ""}>{of.text}</span>
      {of.met && <span className="text-good"> has come</span>}
      {of.until && (
        <>
          {" until "}
          <time dateTime={of.until}>{dateTime(of.until)}</time>{" "}
          <span className="text-faint">
            (<Ago at={of.until} />)
          </span>
        </>
      )}
      {of.parts.length > 0 && (
        <ul className="list-disc pl-5">
          {of.parts.map((p, i) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the conditions of a wait keep their order
            <Condition key={i} of={p} />
          ))}
        </ul>
      )}
    </li>
  );
}
