import { useMutation, useQuery } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import type { NewWebhook } from "../../client/src/index";
import { api } from "../api/client";
import { keysQuery } from "../api/queries";
import { Button, Field, inputClass } from "../components/ui";

/** A form for a new webhook. */
export function NewWebhookForm({ onMade }: { onMade: (made: NewWebhook) => void }) {
  const [url, setUrl] = useState("");
  const [types, setTypes] = useState("");
  const [keyId, setKeyId] = useState("");
  const keys = useQuery(keysQuery());
  const answering = keys.data?.filter((k) => k.role !== "worker" && !k.revokedAt) ?? [];
  const make = useMutation({
    mutationFn: () => {
      const events = types.split(/[\s,]+/).filter((t) => t !== "");
      return api().webhooks.create({
        url: url.trim(),
        ...(events.length > 0 ? { events } : {}),
        ...(keyId ? { keyId } : {}),
      });
    },
    onSuccess: (made) => {
      setUrl("");
      setTypes("");
      setKeyId("");
      onMade(made);
    },
  });
  const submit = (e: FormEvent) => {
    e.preventDefault();
    make.mutate();
  };
  return (
    <form onSubmit={submit} className="flex flex-wrap items-end gap-3">
      <div className="min-w-56 flex-2">
        <Field label="URL" error={make.isError ? make.error.message : undefined}>
          {(props) => (
            <input
              {...props}
              type="url"
              required
              placeholder="https://example.com/perdure"
              value={url}
              onChange={(e) => setUrl(e.target.value)}
              className={inputClass}
            />
          )}
        </Field>
      </div>
      <div className="min-w-40 flex-1">
        <Field label="Events">
          {(props) => (
            <input
              {...props}
              placeholder="agent.*"
              value={types}
              onChange={(e) => setTypes(e.target.value)}
              className={inputClass}
            />
          )}
        </Field>
      </div>
      <div className="w-full">
        <Field
          label="Links for a key"
          hint="Each question.asked then contains a link to a page at which this key answers. Needs --public-url of the server."
        >
          {(props) => (
            <select
              {...props}
              value={keyId}
              onChange={(e) => setKeyId(e.target.value)}
              className={inputClass}
            >
              <option value="">No links</option>
              {answering.map((k) => (
                <option key={k.id} value={k.id}>
                  {k.name} ({k.role}) · {k.id}
                </option>
              ))}
            </select>
          )}
        </Field>
      </div>
      <Button type="submit" look="primary" className="h-[38px]" disabled={!url.trim() || make.isPending}>
        Make a webhook
      </Button>
    </form>
  );
}
