import type { Approvals } from "../../client/src/index";
import { FoldedJson } from "../any/Json";
import { Chip } from "../components/ui";
import { policiesOf, type RuleWords } from "../fold/policies";

/** Which tool calls of a run need an approval, as of its start. */
export function Policies({ of }: { of: Approvals }) {
  const policies = policiesOf(of);
  return (
    <div className="space-y-3 text-sm">
      {policies.map(({ title, rules }) => (
        <div key={title}>
          {title && <h3 className="mb-1 text-xs font-medium text-faint">{title}</h3>}
          <ul aria-label={title || "Rules"} className="space-y-2">
            {rules.map((r, i) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: the rules of a policy never change
              <Rule key={i} of={r} />
            ))}
          </ul>
        </div>
      ))}
      <p className="text-xs text-faint">
        The first rule about a call decides
        {policies.length > 1 && ", and the stricter of both policies counts"}. Calls without a rule run. The
        rules are those of the start of the run.
      </p>
    </div>
  );
}

const tones = { runs: "text-soft", "needs an approval": "text-warn", "is refused": "text-bad" };

function Rule({ of }: { of: RuleWords }) {
  return (
    <li className="space-y-1">
      <p className="flex flex-wrap items-center gap-x-2 gap-y-1">
        {of.tools.map((t) => (
          <Chip key={t}>{t}</Chip>
        ))}
        <span className={tones[of.outcome]}>{of.outcome}</span>
        {of.terms.length > 0 && <span className="text-soft">{of.terms.join(" · ")}</span>}
      </p>
      {of.reason && <p className="text-xs text-soft">“{of.reason}”</p>}
      {of.when !== undefined && (
        <details>
          <summary className="w-fit text-xs text-soft">Only calls that fit a schema</summary>
          <div className="mt-1">
            <FoldedJson label="Schema of the calls" value={of.when} />
          </div>
        </details>
      )}
    </li>
  );
}
