import { useSyncExternalStore } from "react";
import { PerdureClient, PerdureError } from "../../client/src/index";
import { half, keepHalf, Tabs, takeFromAddress } from "./session";

/** The sign-in state of the page. The browser never stores the key itself. */
export interface Access {
  state: "unknown" | "in" | "out";
  org: string;
  /** The role of the key; null if it is not known. */
  role: string | null;
}

const orgKey = "perdure.org";
const roleKey = "perdure.role";
/**
 * How long, in milliseconds, a new tab waits for the reply of another tab before it shows the
 * sign-in.
 */
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
      location.reload(); // no state of the other org may remain
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

/** Returns the API of the org of the session. */
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
  if (role !== null) localStorage.setItem(roleKey, role);
  change({ state: "in", org, role: role ?? localStorage.getItem(roleKey) });
}

function leave(): void {
  keepHalf(undefined);
  localStorage.removeItem(roleKey);
  change({ state: "out", role: null });
}

/** Exchanges a key for a session. Throws PerdureError. */
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

/** Looks for a session in the address, in this tab and in other tabs. */
export async function findSession(): Promise<void> {
  const given = takeFromAddress();
  // Anybody can make a link with a session half. A half that does not match the cookie is ignored
  // and ends no session.
  if (given && (await works(given.half, given.org))) {
    localStorage.removeItem(roleKey); // of an earlier session
    enter(given.half, given.org, null);
    tabs.signedIn(given.half, given.org);
    return;
  }
  const kept = half();
  if (kept && (await works(kept, access.org))) {
    change({ state: "in", role: localStorage.getItem(roleKey) });
    return;
  }
  keepHalf(undefined);
  tabs.ask();
  await new Promise((resolve) => setTimeout(resolve, answerWithin));
  if (access.state === "unknown") change({ state: "out" });
}

let trying: Promise<void> = Promise.resolve();

/**
 * Tries the sessions that other tabs reply with, one after the other, because one of them may have
 * expired.
 */
function tryHalf(value: string, org: string): Promise<void> {
  trying = trying.then(async () => {
    if (access.state === "in") return;
    if (await works(value, org)) enter(value, org, null);
  });
  return trying;
}

/**
 * Asks the server whether the session is valid. Errors other than a refusal do not count as
 * invalid.
 */
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
 * Shows the sign-in if an error says that the session is not valid, or no longer. First asks the
 * server again, because the error may belong to an earlier session. Then asks the other tabs,
 * because one of them may have signed in without this tab having noticed.
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

/** Reports whether a role is admin, or not known: then the server decides. */
export const mayBeAdmin = (role: string | null) => role === null || role === "admin";
