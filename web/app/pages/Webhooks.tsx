import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { NewWebhook, Webhook, WebhookBody } from "../../client/src/index";
import { PerdureError } from "../../client/src/index";
import { api, mayBeAdmin, useAccess } from "../api/client";
import { keysQuery, webhooksQuery } from "../api/queries";
import { type Search, Unmatched } from "../components/SearchField";
import { Banner, Button, Card, Chip, Confirm, CopyButton, ErrorBanner, Skeleton } from "../components/ui";
import { shortId } from "../text/format";
import { Deliveries } from "./Deliveries";
import { NewWebhookForm } from "./NewWebhookForm";

/** The HTTP endpoints to which the events of the org are sent, for admins. */
export function Webhooks({ search }: { search: Search }) {
  const { role } = useAccess();
  return mayBeAdmin(role) ? <AdminsWebhooks search={search} /> : null;
}

function AdminsWebhooks({ search }: { search: Search }) {
  const queries = useQueryClient();
  const webhooks = useQuery(webhooksQuery());
  const [made, setMade] = useState<NewWebhook | null>(null);
  const refused = webhooks.error instanceof PerdureError && webhooks.error.code === "permission_denied";
  const found =
    webhooks.data?.filter((w) => search.fits(w.url, w.description, stateOf(w), ...(w.events ?? []))) ?? [];
  const again = () => void queries.invalidateQueries({ queryKey: ["webhooks"] });
  const onSecret = (w: NewWebhook) => {
    setMade(w);
    again();
  };
  if (refused) return null;
  return (
    <Card title="Webhooks">
      <div className="space-y-5">
        <p className="text-sm text-faint">
          Your own HTTP endpoints, to which events of runs and questions are sent.
        </p>
        {made?.secret && (
          <Banner
            tone="warn"
            title={`The secret of ${made.url}: copy it now, it is not shown again`}
            action={<Button onClick={() => setMade(null)}>Done</Button>}
          >
            <span className="flex items-center gap-1">
              <code className="font-mono text-[13px] break-all">{made.secret}</code>
              <CopyButton text={made.secret} label="Copy the secret" />
            </span>
          </Banner>
        )}
        <div hidden={search.on}>
          <NewWebhookForm onMade={onSecret} />
        </div>
        {webhooks.isPending && <Skeleton rows={2} />}
        {webhooks.isError && (
          <ErrorBanner
            error={webhooks.error}
            what="The webhooks cannot be read"
            retry={() => void webhooks.refetch()}
          />
        )}
        {search.on && webhooks.data && found.length === 0 && <Unmatched what="webhook" search={search} />}
        {found.length > 0 && (
          <ul aria-label="Webhooks" className="divide-y divide-line rounded-lg border border-line">
            {found.map((w) => (
              <WebhookRow key={w.id} of={w} onChange={again} onSecret={onSecret} />
            ))}
          </ul>
        )}
      </div>
    </Card>
  );
}

const stateOf = (w: Webhook) => (w.enabled ? "enabled" : "disabled");

/** The settings of a webhook with another state. */
const enabled = (w: Webhook, on: boolean): WebhookBody => ({
  url: w.url,
  events: w.events ?? [],
  enabled: on,
  ...(w.description ? { description: w.description } : {}),
  ...(w.keyId ? { keyId: w.keyId } : {}),
});

/** The key whose links the deliveries contain, by its name and the end of its id. */
function BoundKey({ id }: { id: string }) {
  const keys = useQuery(keysQuery());
  const key = keys.data?.find((k) => k.id === id);
  const name = key ? `${key.name} · ${shortId(id)}` : shortId(id);
  return <Chip title={`Key ${id}`}>{`links for ${name}${key?.revokedAt ? " (revoked)" : ""}`}</Chip>;
}

function WebhookRow({
  of,
  onChange,
  onSecret,
}: {
  of: Webhook;
  onChange: () => void;
  onSecret: (made: NewWebhook) => void;
}) {
  const [asks, setAsks] = useState(false);
  const [shows, setShows] = useState(false);
  const set = useMutation({
    mutationFn: () => api().webhooks.replace(of.id, enabled(of, !of.enabled), { version: of.version }),
    onSettled: onChange,
  });
  const rotate = useMutation({ mutationFn: () => api().webhooks.rotate(of.id), onSuccess: onSecret });
  const remove = useMutation({
    mutationFn: () => api().webhooks.delete(of.id),
    onSuccess: onChange,
    onSettled: () => setAsks(false),
  });
  const leaves = remove.isPending || remove.isSuccess; // its deliveries are no longer polled
  const error = set.error ?? rotate.error ?? remove.error;
  return (
    <li data-webhook={of.id} className="space-y-2 px-4 py-3 text-sm">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <span className="min-w-0 flex-1 font-medium [overflow-wrap:anywhere]">{of.url}</span>
        <span className={of.enabled ? "text-xs text-good" : "text-xs text-bad"}>{stateOf(of)}</span>
      </div>
      {of.description && <p className="text-soft">{of.description}</p>}
      {of.disabledReason && <p className="text-bad">Disabled by the server: {of.disabledReason}.</p>}
      <div className="flex flex-wrap gap-1.5">
        {(of.events ?? []).map((e) => (
          <Chip key={e}>{e}</Chip>
        ))}
        {of.keyId && <BoundKey id={of.keyId} />}
      </div>
      <div className="flex flex-wrap gap-2">
        <Button aria-expanded={shows} onClick={() => setShows(!shows)}>
          Deliveries
        </Button>
        <Button disabled={set.isPending} onClick={() => set.mutate()}>
          {of.enabled ? "Disable" : "Enable"}
        </Button>
        <Button disabled={rotate.isPending} onClick={() => rotate.mutate()}>
          Rotate the secret
        </Button>
        <Button look="danger" onClick={() => setAsks(true)}>
          Delete
        </Button>
      </div>
      {error && <p className="text-xs text-bad">{error.message}</p>}
      {shows && !leaves && <Deliveries of={of} />}
      <Confirm
        open={asks}
        title="Delete this webhook?"
        action="Delete"
        busy={remove.isPending}
        onConfirm={() => remove.mutate()}
        onClose={() => setAsks(false)}
      >
        {of.url} gets no more events. Those that wait, and the record of those that were sent, are deleted.
      </Confirm>
    </li>
  );
}
