import { useSyncExternalStore } from "react";
import { PerdureClient, PerdureError } from "../../client/src/index";
import { half, keepHalf, Tabs, takeFromAddress } from "./session";

/** Who uses the page. The key itself is nowhere in the browser. */
export interface Access {
  state: "unknown" | "in" | "out";
  org: string;
  /** Known after signing in by key; null when the session was there already. */
  role: string | null;
}

const orgKey = "perdure.org";
/** How long a new tab waits for another one to answer, in milliseconds, before it asks its user. */
const answerWithin = 400;

const listeners = new Set<() => void>();
let access: Access = { state: "unknown", org: localStorage.getItem(orgKey) ?? "default", role: null };
let client = clientOf(access.org);
let signingOut = false;

const tabs = new Tabs({
  answer: (value, org) => void tryHalf(value, org),
  signedIn: (value, org) => {
    if (access.state === "in" && org !== access.org) {
      keepHalf(value);
      localStorage.setItem(orgKey, org);
      location.reload(); // nothing of the other org may stay
      return;
    }
    enter(value, org, null);
  },
  signedOut: () => leave(),
  mine: () => {
    const value = half();
    return access.state === "in" && value ? { half: value, org: access.org } : undefined;
  },
});

function clientOf(org: string): PerdureClient {
  return new PerdureClient({ org, session: half });
}

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

function enter(value: string, org: string, role: string | null): void {
  keepHalf(value);
  localStorage.setItem(orgKey, org);
  if (org !== access.org) client = clientOf(org);
  change({ state: "in", org, role });
}

function leave(): void {
  keepHalf(undefined);
  change({ state: "out", role: null });
}

/** Trades a key for a session. Throws PerdureError. */
export async function signIn(key: string): Promise<void> {
  const { org, role, session } = await client.login(key);
  enter(session, org, role);
  tabs.signedIn(session, org);
}

/** Ends the session on the server, and in every tab. Throws PerdureError. */
export async function signOut(): Promise<void> {
  signingOut = true;
  try {
    await client.logout();
    leave();
    tabs.signedOut();
  } finally {
    signingOut = false;
  }
}

/** Finds the session that this tab, the address or another tab has. */
export async function findSession(): Promise<void> {
  const given = takeFromAddress();
  // Anybody can make a link: one whose half is not the cookie's signs nobody out.
  if (given && (await works(given.half, given.org))) {
    enter(given.half, given.org, null);
    tabs.signedIn(given.half, given.org);
    return;
  }
  const kept = half();
  if (kept && (await works(kept, access.org))) {
    change({ state: "in" });
    return;
  }
  keepHalf(undefined);
  tabs.ask();
  await new Promise((resolve) => setTimeout(resolve, answerWithin));
  if (access.state === "unknown") change({ state: "out" });
}

let trying: Promise<void> = Promise.resolve();

/** Tries what other tabs answer, one after the other: one of them may have a session that is over. */
function tryHalf(value: string, org: string): Promise<void> {
  trying = trying.then(async () => {
    if (access.state === "in") return;
    if (await works(value, org)) enter(value, org, null);
  });
  return trying;
}

/** Asks the server whether the session is good. A server that does not answer says nothing about it. */
async function works(value: string | undefined, org: string): Promise<boolean> {
  try {
    await new PerdureClient({ org, session: () => value }).executions.list({ limit: 1 });
    return true;
  } catch (thrown) {
    return !isRefused(thrown);
  }
}

let doubting = false;

/**
 * Shows the sign-in if an error says that the session is not, or no longer, good. The
 * server is asked again, since the answer may be to a session before; and so is
 * another tab, which may have signed in unheard.
 */
export function heed(error: unknown): void {
  if (!(error instanceof PerdureError) || error.code !== "unauthenticated") return;
  if (access.state !== "in" || doubting || signingOut) return;
  doubting = true;
  void works(half(), access.org).then((good) => {
    doubting = false;
    if (good || access.state !== "in") return;
    leave();
    tabs.ask();
  });
}

function isRefused(thrown: unknown): boolean {
  return thrown instanceof PerdureError && (thrown.code === "unauthenticated" || thrown.code === "not_found");
}
