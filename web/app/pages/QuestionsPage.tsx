import { useQueries, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { Question } from "../../client/src/index";
import { inboxQuery, questionQuery } from "../api/queries";
import { PageSearch, Unmatched, useSearch } from "../components/SearchField";
import { Page } from "../components/Shell";
import { Empty, ErrorBanner, Skeleton } from "../components/ui";
import { canNotify, useNoticesWanted } from "../questions/notices";
import { QuestionCard } from "../questions/QuestionCard";
import { detailsText, headingOf } from "../questions/question";

/** What runs ask of people: the open questions of the org, newest first. */
export function QuestionsPage() {
  const [mine, setMine] = useState(false);
  const [notices, setNotices] = useNoticesWanted();
  const { data, error, refetch } = useQuery(inboxQuery(mine));
  const search = useSearch();
  const all = data?.items ?? [];
  // A list has no details. The cards read them, so this is no further request.
  const whole = useQueries({ queries: all.map((q) => questionQuery(q.id)) });
  const found = all.filter((q, i) => search.fits(...textsOf(whole[i]?.data ?? q)));
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
      {all.length > 0 && (
        <PageSearch
          search={search}
          label="Search questions"
          placeholder={data?.nextCursor ? `Search the newest ${all.length}` : "Question, details or run"}
          found={found.length}
          of={all.length}
        />
      )}
      {all.length > 0 && found.length === 0 && <Unmatched what="question" search={search} />}
      <div className="space-y-4">
        {all.map((q) => (
          // A card that is not found keeps what was typed into it.
          <div key={q.id} hidden={!found.includes(q)}>
            <QuestionCard id={q.id} withRun />
          </div>
        ))}
      </div>
      {data?.nextCursor && (
        <p className="mt-4 text-sm text-faint">
          These are the newest {all.length}, which the search looks through. Older ones follow as these are
          answered; <code>perdure questions</code> lists all.
        </p>
      )}
    </Page>
  );
}

/** The texts of a question that are searched. */
const textsOf = (q: Question) => [headingOf(q), q.prompt, detailsText(q), q.agentExecutionTitle];
