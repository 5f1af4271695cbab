import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ApprovalGrant } from "../../client/src/index";
import { api } from "../api/client";
import { grantsQuery } from "../api/queries";
import { type Search, Unmatched } from "../components/SearchField";
import { Button, Card, ErrorBanner, Skeleton } from "../components/ui";
import { timeOf } from "../text/format";

/** The approvals that also answer later questions. */
export function Grants({ search }: { search: Search }) {
  const queries = useQueryClient();
  const grants = useQuery(grantsQuery());
  const found = grants.data?.filter((g) => search.fits(callsOf(g), ...(g.voters ?? []))) ?? [];
  return (
    <Card title="Remembered approvals">
      <div className="space-y-4">
        <p className="text-sm text-faint">
          Tool calls that run without a question, because their approval was remembered.
        </p>
        {grants.isPending && <Skeleton rows={2} />}
        {grants.isError && (
          <ErrorBanner
            error={grants.error}
            what="The remembered approvals cannot be read"
            retry={() => void grants.refetch()}
          />
        )}
        {grants.data?.length === 0 && <p className="text-sm text-soft">There are none.</p>}
        {(grants.data?.length ?? 0) > 0 && found.length === 0 && (
          <Unmatched what="remembered approval" search={search} />
        )}
        {found.length > 0 && (
          <ul
            aria-label="Remembered approvals"
            className="divide-y divide-line rounded-lg border border-line"
          >
            {found.map((g) => (
              <GrantRow
                key={g.id}
                of={g}
                onChange={() => void queries.invalidateQueries({ queryKey: ["grants"] })}
              />
            ))}
          </ul>
        )}
      </div>
    </Card>
  );
}

/** The calls that need no question. */
const callsOf = (g: ApprovalGrant) =>
  g.match === "tool" ? `every call of ${g.subject}` : `one call of ${g.subject}`;

function GrantRow({ of, onChange }: { of: ApprovalGrant; onChange: () => void }) {
  const revoke = useMutation({ mutationFn: () => api().questions.revokeGrant(of.id), onSuccess: onChange });
  const calls = callsOf(of);
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-1 px-4 py-2.5 text-sm">
      <span className="min-w-40 flex-1">
        <span className="font-medium">{calls}</span>
        {of.agentExecutionId ? (
          <>
            {" in "}
            <Link
              to="/ai/runs/$runId"
              params={{ runId: of.agentExecutionId }}
              search={{}}
              className="text-accent-strong underline underline-offset-2"
            >
              a run
            </Link>
          </>
        ) : (
          " in all runs of an agent"
        )}
        <span className="block truncate text-xs text-faint">
          by {(of.voters ?? []).join(", ")}, until {timeOf(of.expiresAt)}
        </span>
      </span>
      <Button
        look="danger"
        disabled={revoke.isPending}
        onClick={() => revoke.mutate()}
        aria-label={`Revoke ${calls}`}
      >
        Revoke
      </Button>
      {revoke.isError && <span className="text-xs text-bad">{revoke.error.message}</span>}
    </li>
  );
}
