/**
 * The number of records since the newest checkpoint from which on the page shows a warning. The
 * worker's log warns at the same number.
 */
const many = 1000;

/**
 * Returns the warning for a run with many records to read at each resume; null if there is nothing
 * to warn of.
 */
export function recordsNotice(records: number | undefined, ended: boolean): string | null {
  if (ended || records === undefined || records < many) return null;
  return `${records.toLocaleString("en")} steps and tasks since the newest checkpoint: each resume reads all of them.`;
}
