/**
 * The page's half of the session: useless without the cookie, which scripts cannot
 * read. It is kept by tab, over a reload; other tabs of this origin, which includes
 * the port, are asked for it.
 */
const halfKey = "perdure.session";

type Message =
  | { type: "ask" }
  | { type: "answer" | "signed-in"; half: string; org: string }
  | { type: "signed-out" };

export interface Heard {
  /** Another tab has a session; it may be over. */
  answer(half: string, org: string): void;
  /** Another tab has signed in, so that this browser's cookie is another one. */
  signedIn(half: string, org: string): void;
  signedOut(): void;
  /** What a tab that asks is answered with. */
  mine(): { half: string; org: string } | undefined;
}

export function half(): string | undefined {
  return sessionStorage.getItem(halfKey) ?? undefined;
}

export function keepHalf(value: string | undefined): void {
  if (value) sessionStorage.setItem(halfKey, value);
  else sessionStorage.removeItem(halfKey);
}

/** Takes what the address that `perdure dev` prints led to, and removes it from the address. */
export function takeFromAddress(): { half: string; org: string } | undefined {
  const said = new URLSearchParams(location.hash.slice(1));
  const value = said.get("session");
  if (!value) return undefined;
  history.replaceState(history.state, "", location.pathname + location.search);
  return { half: value, org: said.get("org") ?? "default" };
}

/** The tabs of this origin that are open in this browser. */
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
