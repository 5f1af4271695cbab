import { ago, dateTime } from "../text/format";
import { useNow } from "./now";

/** When something was, as the time that has passed since. */
export function Ago({ at }: { at: string }) {
  const now = useNow();
  return (
    <time dateTime={at} title={dateTime(at)}>
      {ago(at, now)}
    </time>
  );
}
