import { type FormEvent, useState } from "react";
import { PerdureError } from "../../client/src/index";
import { signIn } from "../api/client";
import { KeyIcon } from "../components/icons";
import { Button, Field, inputClass } from "../components/ui";

/** Asks for a key and begins a session. The key is not stored. The address does not change. */
export function SignInPage() {
  const [key, setKey] = useState("");
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<string>();

  const submit = async (e: FormEvent) => {
    e.preventDefault();
    setBusy(true);
    try {
      await signIn(key.trim());
      setKey("");
    } catch (thrown) {
      setError(thrown instanceof PerdureError ? thrown.message : String(thrown));
    } finally {
      setBusy(false);
    }
  };

  return (
    <div className="flex min-h-full items-center justify-center p-4">
      <title>Sign in · Perdure</title>
      <form
        onSubmit={submit}
        className="w-full max-w-sm rounded-2xl border border-line bg-surface p-7 shadow-sm"
      >
        <span className="mb-4 inline-flex size-10 items-center justify-center rounded-xl bg-accent-soft text-accent-strong">
          <KeyIcon className="size-5" />
        </span>
        <h1 className="text-lg font-semibold">Sign in</h1>
        <p className="mt-1 mb-5 text-sm text-faint">
          With an API key of this server. The key is not kept: it begins a session of 12 hours, which you can
          end in the settings.
        </p>
        <Field
          label="API key"
          error={error}
          hint="In dev mode it is in the file named token in the data directory, and in the address that a terminal shows."
        >
          {(props) => (
            <input
              {...props}
              type="password"
              autoComplete="current-password"
              required
              value={key}
              onChange={(e) => setKey(e.target.value)}
              className={`${inputClass} font-mono`}
            />
          )}
        </Field>
        <Button type="submit" look="primary" disabled={busy || !key.trim()} className="mt-5 w-full">
          {busy ? "Signing in…" : "Sign in"}
        </Button>
      </form>
    </div>
  );
}
