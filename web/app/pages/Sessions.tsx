import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { Session } from "../../client/src/index";
import { api, signOut } from "../api/client";
import { sessionsQuery } from "../api/queries";
import { Ago } from "../components/Ago";
import { type Search, Unmatched } from "../components/SearchField";
import { Button, Card, Confirm, ErrorBanner, Skeleton } from "../components/ui";
import { browserName } from "../text/browser";
import { timeOf } from "../text/format";

/** The current browser sessions that the key may see. */
export function Sessions({ search }: { search: Search }) {
  const queries = useQueryClient();
  const sessions = useQuery(sessionsQuery());
  const found =
    sessions.data?.filter((s) => search.fits(browserName(s.userAgent), s.keyName, s.remoteAddress)) ?? [];
  return (
    <Card title="Sessions">
      <div className="space-y-4">
        <p className="text-sm text-faint">Browsers that are signed in. A session ends after 12 hours.</p>
        {sessions.isPending && <Skeleton rows={2} />}
        {sessions.isError && (
          <ErrorBanner
            error={sessions.error}
            what="The sessions cannot be read"
            retry={() => void sessions.refetch()}
          />
        )}
        {(sessions.data?.length ?? 0) > 0 && found.length === 0 && (
          <Unmatched what="session" search={search} />
        )}
        {found.length > 0 && (
          <ul aria-label="Sessions" className="divide-y divide-line rounded-lg border border-line">
            {found.map((s) => (
              <SessionRow
                key={s.id}
                of={s}
                onChange={() => void queries.invalidateQueries({ queryKey: ["sessions"] })}
              />
            ))}
          </ul>
        )}
      </div>
    </Card>
  );
}

function SessionRow({ of, onChange }: { of: Session; onChange: () => void }) {
  const [asks, setAsks] = useState(false);
  const end = useMutation({
    mutationFn: async () => {
      if (of.current) await signOut();
      else await api().sessions.revoke(of.id);
    },
    onSuccess: onChange,
    onSettled: () => setAsks(false),
  });
  const name = browserName(of.userAgent);
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-1 px-4 py-2.5 text-sm">
      <span className="min-w-40 flex-1" title={of.userAgent}>
        <span className="font-medium">{name}</span>
        {of.current && (
          <span className="ml-2 rounded-md bg-accent-soft px-1.5 py-0.5 text-xs text-accent-strong">
            this browser
          </span>
        )}
        <span className="block truncate text-xs text-faint">
          key {of.keyName}, from {of.remoteAddress}, until {timeOf(of.expiresAt)}
        </span>
      </span>
      <span className="text-right text-xs text-faint">
        <Ago at={of.createdAt} />
      </span>
      <Button look="danger" onClick={() => setAsks(true)} aria-label={`End the session ${name}`}>
        End
      </Button>
      {end.isError && <span className="text-xs text-bad">{end.error.message}</span>}
      <Confirm
        open={asks}
        title={of.current ? "Sign out of this browser?" : `End the session of ${name}?`}
        action="End it"
        busy={end.isPending}
        onConfirm={() => end.mutate()}
        onClose={() => setAsks(false)}
      >
        It is refused within 5 seconds, open streams too. The key stays.
      </Confirm>
    </li>
  );
}
