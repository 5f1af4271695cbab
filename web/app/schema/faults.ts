/** The problems of a form, by the path of their field, such as `to.name` or `notes.0`. */
export type Faults = Readonly<Record<string, string>>;

/**
 * Returns the server's errors by the path of their field. `base` is the location of the form's value
 * in the request, `name` that of the form's own field. A missing member is an error of the object;
 * it is shown at the member.
 */
export function faultsAt(
  errors: readonly { location: string; message: string }[],
  base: string,
  name: string,
): Faults {
  const faults: Record<string, string> = {};
  for (const { location, message } of errors) {
    const at = location.replace(/^body\.?/, "").replace(/\[(\d+)\]/g, ".$1");
    if (at !== base && !at.startsWith(`${base}.`)) continue;
    const missing = /^missing propert\w+ '([^']+)'/.exec(message)?.[1];
    faults[`${name}${at.slice(base.length)}${missing ? `.${missing}` : ""}`] = message;
  }
  return faults;
}
