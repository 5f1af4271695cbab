import { ago, dateTime } from "../text/format";
import { useNow } from "./now";

/** Shows a time relative to now. */
export function Ago({ at }: { at: string }) {
  const now = useNow();
  return (
    <time dateTime={at} title={dateTime(at)}>
      {ago(at, now)}
    </time>
  );
}
