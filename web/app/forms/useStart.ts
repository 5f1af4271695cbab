import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useRef, useState } from "react";
import type { StartBody } from "../../client/src/index";
import { api } from "../api/client";

/** Starts a run, and shows it. */
export function useStart(options: { onStarted?: () => void; onError: (error: Error) => void }) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [waiting, setWaiting] = useState(false);
  const once = useRef({ of: "", key: "" });
  const start = useMutation({
    mutationFn: (body: StartBody) => {
      const of = JSON.stringify(body);
      // A repeated request, for example after a lost reply, has the same idempotency key and starts
      // one run.
      if (once.current.of !== of)
        once.current = { of, key: crypto.getRandomValues(new Uint32Array(4)).join("-") };
      return api().executions.create(body, {
        idempotencyKey: once.current.key,
        onWait: () => setWaiting(true),
      });
    },
    onSuccess: (run) => {
      options.onStarted?.();
      void queries.invalidateQueries({ queryKey: ["runs"] });
      void navigate({ to: "/ai/runs/$runId", params: { runId: run.id } });
    },
    onError: options.onError,
    onSettled: () => setWaiting(false),
  });
  return { start, waiting };
}
