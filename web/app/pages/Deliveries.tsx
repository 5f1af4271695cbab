import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { Delivery, Webhook } from "../../client/src/index";
import { api } from "../api/client";
import { deliveriesQuery } from "../api/queries";
import { Ago } from "../components/Ago";
import { Button, ErrorBanner, Skeleton } from "../components/ui";

/** The newest deliveries of a webhook, with what its endpoint answered. */
export function Deliveries({ of }: { of: Webhook }) {
  const deliveries = useQuery(deliveriesQuery(of.id));
  if (deliveries.isError) {
    return <ErrorBanner error={deliveries.error} what="The deliveries cannot be read" />;
  }
  if (!deliveries.data) return <Skeleton rows={2} />;
  return (
    <section aria-label={`Deliveries to ${of.url}`} className="space-y-2">
      <TestButton of={of} />
      {deliveries.data.length === 0 && <p className="text-xs text-faint">Nothing was sent yet.</p>}
      <ul className="divide-y divide-line">
        {deliveries.data.map((d) => (
          <DeliveryRow key={d.id} of={d} enabled={of.enabled} />
        ))}
      </ul>
    </section>
  );
}

function useAgain(): () => void {
  const queries = useQueryClient();
  return () => void queries.invalidateQueries({ queryKey: ["deliveries"] });
}

function TestButton({ of }: { of: Webhook }) {
  const again = useAgain();
  const send = useMutation({ mutationFn: () => api().webhooks.test(of.id), onSettled: again });
  return (
    <div className="flex flex-wrap items-center gap-3">
      <Button disabled={!of.enabled || send.isPending} onClick={() => send.mutate()}>
        Send a test
      </Button>
      {send.isError && <span className="text-xs text-bad">{send.error.message}</span>}
    </div>
  );
}

const tones: Record<string, string> = { delivered: "text-good", dead: "text-bad", pending: "text-warn" };

function DeliveryRow({ of, enabled }: { of: Delivery; enabled: boolean }) {
  const again = useAgain();
  const send = useMutation({
    mutationFn: () => api().webhooks.resend(of.webhookId, of.id),
    onSettled: again,
  });
  return (
    <li data-delivery={of.status} className="flex flex-wrap items-center gap-x-3 gap-y-1 py-2 text-xs">
      <span className="font-mono">{of.eventType}</span>
      <span className={tones[of.status] ?? "text-faint"}>{of.status}</span>
      <span className="min-w-0 flex-1 text-faint [overflow-wrap:anywhere] max-sm:order-last max-sm:basis-full">
        {outcomeOf(of)}
      </span>
      <span className="text-faint">
        <Ago at={of.createdAt} />
      </span>
      {of.status === "dead" && (
        <Button disabled={!enabled || send.isPending} onClick={() => send.mutate()}>
          Send again
        </Button>
      )}
      {send.isError && <span className="text-bad">{send.error.message}</span>}
    </li>
  );
}

/** Returns what became of the newest attempt. */
function outcomeOf(d: Delivery): string {
  const attempts = d.attempts === 1 ? "1 attempt" : `${d.attempts} attempts`;
  const answer = d.error || (d.responseStatus ? `answered ${d.responseStatus}` : "");
  return d.attempts === 0 ? "not sent yet" : [attempts, answer].filter((t) => t !== "").join(", ");
}
