/** From how many records since its newest checkpoint on a run is worth a warning, as in the worker's log. */
const many = 1000;

/** What the page says of a run that each resume has to read much of; null where there is nothing to say. */
export function recordsNotice(records: number | undefined, ended: boolean): string | null {
  if (ended || records === undefined || records < many) return null;
  return `${records.toLocaleString("en")} steps and tasks since the newest checkpoint: each resume reads all of them.`;
}
