/**
 * The page's half of the session. It is useless without the cookie, which scripts cannot read. Each
 * tab stores it, so it survives a reload. A new tab asks the other tabs of this origin, port
 * included, for it.
 */
const halfKey = "perdure.session";

type Message =
  | { type: "ask" }
  | { type: "answer" | "signed-in"; half: string; org: string }
  | { type: "signed-out" };

export interface Heard {
  /** Another tab has a session, which may have expired. */
  answer(half: string, org: string): void;
  /** Another tab has signed in, so this browser's cookie has changed. */
  signedIn(half: string, org: string): void;
  signedOut(): void;
  /** Returns the session for the reply to a tab that asks. */
  mine(): { half: string; org: string } | undefined;
}

export function half(): string | undefined {
  return sessionStorage.getItem(halfKey) ?? undefined;
}

export function keepHalf(value: string | undefined): void {
  if (value) sessionStorage.setItem(halfKey, value);
  else sessionStorage.removeItem(halfKey);
}

/**
 * Reads the session from the address that `perdure dev` prints, and removes it from the address.
 */
export function takeFromAddress(): { half: string; org: string } | undefined {
  const said = new URLSearchParams(location.hash.slice(1));
  const value = said.get("session");
  if (!value) return undefined;
  history.replaceState(history.state, "", location.pathname + location.search);
  return { half: value, org: said.get("org") ?? "default" };
}

/** The open tabs of this origin in this browser. */
export class Tabs {
  readonly #channel = new BroadcastChannel("perdure.session");

  constructor(heard: Heard) {
    this.#channel.onmessage = ({ data }: MessageEvent<Message>) => {
      if (data.type === "answer") heard.answer(data.half, data.org);
      else if (data.type === "signed-in") heard.signedIn(data.half, data.org);
      else if (data.type === "signed-out") heard.signedOut();
      else {
        const mine = heard.mine();
        if (mine) this.#send({ type: "answer", ...mine });
      }
    };
  }

  ask(): void {
    this.#send({ type: "ask" });
  }

  signedIn(value: string, org: string): void {
    this.#send({ type: "signed-in", half: value, org });
  }

  signedOut(): void {
    this.#send({ type: "signed-out" });
  }

  #send(m: Message): void {
    this.#channel.postMessage(m);
  }
}
