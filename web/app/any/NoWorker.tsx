import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { queuesQuery } from "../api/queries";
import { Banner } from "../components/ui";

/** Says which of the queues with waiting work no worker serves, or are paused. */
export function NoWorker({ queues }: { queues: readonly string[] }) {
  const waits = [...new Set(queues)];
  const known = useQuery({ ...queuesQuery(), enabled: waits.length > 0 });
  return known.data?.items
    .filter((q) => waits.includes(q.name) && (q.paused || !q.served))
    .map((q) => (
      <Banner
        key={q.name}
        tone="warn"
        title={q.paused ? `The queue ${q.name} is paused` : `No worker serves the queue ${q.name}`}
      >
        {q.paused ? "Its work waits until the queue is resumed." : "Its work waits until a worker comes."}{" "}
        <Link to="/ai/workers" className="text-accent-strong underline underline-offset-2">
          Workers and queues
        </Link>
      </Banner>
    ));
}
