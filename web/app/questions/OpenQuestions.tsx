import { useQuery } from "@tanstack/react-query";
import { openOfRunQuery } from "../api/queries";
import { QuestionCard } from "./QuestionCard";

/** The open questions of a run, oldest first. `at` changes whenever there may be others. */
export function OpenQuestions({ run, at }: { run: string; at: string }) {
  const open = useQuery(openOfRunQuery(run, at));
  return open.data?.items.toReversed().map((q) => <QuestionCard key={q.id} id={q.id} />);
}
