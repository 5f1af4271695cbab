import { useSyncExternalStore } from "react";
import { PerdureClient, PerdureError } from "../../client/src/index";

/** Who uses the page. The key itself is in a cookie that scripts cannot read. */
export interface Access {
  state: "unknown" | "in" | "out";
  org: string;
  /** Known after signing in by key; null when the cookie was there already. */
  role: string | null;
}

const orgKey = "perdure.org";
const listeners = new Set<() => void>();
let access: Access = { state: "unknown", org: localStorage.getItem(orgKey) ?? "default", role: null };
let client = new PerdureClient({ org: access.org });

/** The API of the org that the user is signed in to. */
export function api(): PerdureClient {
  return client;
}

export function useAccess(): Access {
  return useSyncExternalStore(subscribe, () => access);
}

export function orgNow(): string {
  return access.org;
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function change(next: Partial<Access>): void {
  access = { ...access, ...next };
  for (const listener of listeners) listener();
}

/** Trades a key for the cookie. Throws PerdureError. */
export async function signIn(key: string): Promise<void> {
  const { org, role } = await client.login(key);
  localStorage.setItem(orgKey, org);
  client = new PerdureClient({ org });
  change({ state: "in", org, role });
}

export async function signOut(): Promise<void> {
  await client.logout();
  change({ state: "out", role: null });
}

/** Asks the server whether the cookie is good. A server that does not answer says nothing about it. */
export async function probe(): Promise<void> {
  try {
    await client.executions.list({ limit: 1 });
    change({ state: "in" });
  } catch (thrown) {
    change({ state: isRefused(thrown) ? "out" : "in" });
  }
}

/** Shows the sign-in if an error says that the key is not, or no longer, good. */
export function heed(error: unknown): void {
  if (error instanceof PerdureError && error.code === "unauthenticated") change({ state: "out", role: null });
}

function isRefused(thrown: unknown): boolean {
  return thrown instanceof PerdureError && (thrown.code === "unauthenticated" || thrown.code === "not_found");
}
