import { useMutation } from "@tanstack/react-query";
import { type FormEvent, useRef, useState } from "react";
import { type KindInfo, PerdureError, type SignalBody } from "../../client/src/index";
import { api } from "../api/client";
import { Banner, Button, ErrorBanner, inputClass } from "../components/ui";
import { type Declared, undeclaredText } from "../fold/signal";
import { faultsAt } from "../schema/faults";
import { useValue, ValueFields } from "../schema/ValueFields";

type Spec = NonNullable<KindInfo["signals"]>[number];

/** The schema of a message's value, which no kind registers. */
const messageSchema = {
  type: "object",
  required: ["text"],
  properties: { text: { type: "string", title: "Message" } },
};

/** A form for a signal, by the schema that its kind has registered. Other signals take any JSON. */
export function SignalForm({
  run,
  name,
  spec,
  declared,
}: {
  run: string;
  name: string;
  spec: Spec | undefined;
  declared: Declared;
}) {
  const schema = spec?.schema ?? (name === "userMessage" ? messageSchema : undefined);
  const value = useValue(schema, "Value");
  const [typedName, setName] = useState(name);
  const once = useRef({ of: "", id: "" });
  const send = useMutation({
    mutationFn: (body: SignalBody) => {
      const of = JSON.stringify(body);
      // The same content, sent again after a lost reply, has the same id and is one signal.
      if (once.current.of !== of) once.current = { of, id: idOf() };
      return api().executions.signal(run, { ...body, signalId: once.current.id });
    },
    onSuccess: () => {
      once.current = { of: "", id: "" };
    },
    onError: (error) => {
      if (!(error instanceof PerdureError)) return;
      value.change({ faults: faultsAt(error.fields, "signalValue", "Value") });
    },
  });
  const submit = (e: FormEvent) => {
    e.preventDefault();
    const read = value.take();
    if (!read) return;
    send.mutate({
      signalName: typedName,
      ...(read.value === undefined ? {} : { signalValue: read.value }),
    });
  };
  const id = `signal-${name}`;
  return (
    <form
      onSubmit={submit}
      noValidate
      aria-label={`Signal ${name}`}
      className="space-y-3 rounded-lg border border-line p-4"
    >
      <div>
        <h3 className="text-sm font-semibold">
          Signal <code className="font-mono">{name}</code>
        </h3>
        {spec?.description && <p className="text-xs text-faint">{spec.description}</p>}
      </div>
      {name.includes("*") && (
        <label className="block text-sm font-medium">
          Name
          <input
            value={typedName}
            onChange={(e) => setName(e.target.value)}
            className={`${inputClass} mt-1.5 font-mono`}
          />
        </label>
      )}
      <ValueFields id={id} value={value}>
        <Button type="submit" look="primary" disabled={send.isPending}>
          Send {name.includes("*") ? "the signal" : name}
        </Button>
      </ValueFields>
      {send.isError && <ErrorBanner error={send.error} what="The signal was not taken" />}
      {send.isSuccess && !send.data.unexpected && (
        <p role="status" className="text-sm text-soft">
          Sent.
        </p>
      )}
      {send.isSuccess && send.data.unexpected && (
        <Banner tone="warn" title="Sent, but nothing may take it">
          {undeclaredText(send.variables.signalName, declared)}
        </Banner>
      )}
    </form>
  );
}

const idOf = () =>
  [...crypto.getRandomValues(new Uint8Array(16))].map((b) => b.toString(16).padStart(2, "0")).join("");
