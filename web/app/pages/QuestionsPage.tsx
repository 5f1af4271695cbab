import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { inboxQuery } from "../api/queries";
import { Page } from "../components/Shell";
import { Empty, ErrorBanner, Skeleton } from "../components/ui";
import { canNotify, useNoticesWanted } from "../questions/notices";
import { QuestionCard } from "../questions/QuestionCard";

/** What runs ask of people: the open questions of the org, newest first. */
export function QuestionsPage() {
  const [mine, setMine] = useState(false);
  const [notices, setNotices] = useNoticesWanted();
  const { data, error, refetch } = useQuery(inboxQuery(mine));
  return (
    <Page
      title="Questions"
      lead="What runs ask of people"
      narrow
      actions={
        <div className="flex flex-wrap gap-x-4 gap-y-2">
          <label className="flex items-center gap-2 text-sm text-soft">
            <input type="checkbox" checked={mine} onChange={(e) => setMine(e.target.checked)} />
            Only those that I may answer
          </label>
          {canNotify() && (
            <label className="flex items-center gap-2 text-sm text-soft">
              <input type="checkbox" checked={notices} onChange={(e) => void setNotices(e.target.checked)} />
              Notify me of new ones
            </label>
          )}
        </div>
      }
    >
      {error && (
        <ErrorBanner error={error} what="The questions cannot be shown" retry={() => void refetch()} />
      )}
      {!data && !error && <Skeleton rows={4} />}
      {data?.items.length === 0 && (
        <Empty title="No open questions">Runs that ask something appear here.</Empty>
      )}
      <div className="space-y-4">
        {data?.items.map((q) => (
          <QuestionCard key={q.id} id={q.id} withRun />
        ))}
      </div>
    </Page>
  );
}
