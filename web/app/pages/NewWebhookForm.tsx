import { useMutation } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import type { NewWebhook } from "../../client/src/index";
import { api } from "../api/client";
import { Button, Field, inputClass } from "../components/ui";

/** A form for a new webhook. */
export function NewWebhookForm({ onMade }: { onMade: (made: NewWebhook) => void }) {
  const [url, setUrl] = useState("");
  const [types, setTypes] = useState("");
  const make = useMutation({
    mutationFn: () => {
      const events = types.split(/[\s,]+/).filter((t) => t !== "");
      return api().webhooks.create({ url: url.trim(), ...(events.length > 0 ? { events } : {}) });
    },
    onSuccess: (made) => {
      setUrl("");
      setTypes("");
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
      <Button type="submit" look="primary" className="h-[38px]" disabled={!url.trim() || make.isPending}>
        Make a webhook
      </Button>
    </form>
  );
}
