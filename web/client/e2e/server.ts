import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { WebSocket } from "ws";
import { type OpenWebSocket, PerdureClient, type WebSocketLike } from "../src/index";

const root = new URL("../../../", import.meta.url).pathname;

/** Returns the path of the program, which is built once per run of the tests. */
export function program(): string {
  if (process.env.PERDURE_BIN) return process.env.PERDURE_BIN;
  const bin = join(root, "bin", "perdure-web-e2e");
  execFileSync("go", ["build", "-o", bin, "./cmd/perdure"], { cwd: root, stdio: "inherit" });
  return bin;
}

const examples = new Map<string, string>();

/** Returns the path of the worker of `examples/NAME`, which is built once. */
function example(name: string): string {
  let bin = examples.get(name);
  if (!bin) {
    bin = join(mkdtempSync(join(tmpdir(), "perdure-example-")), name);
    execFileSync("go", ["build", "-o", bin, `./examples/${name}`], { cwd: root, stdio: "inherit" });
    examples.set(name, bin);
  }
  return bin;
}

/** A separate `perdure dev`, with scripts in place of a model. */
export class Dev {
  readonly #dir = mkdtempSync(join(tmpdir(), "perdure-web-"));
  readonly #bin: string;
  #process: ChildProcess | null = null;
  #output = "";
  #address = "127.0.0.1:0";
  #rpc = "127.0.0.1:0";

  constructor(bin: string) {
    this.#bin = bin;
    for (const name of ["workspace", "scripts", "home"]) mkdirSync(join(this.#dir, name));
  }

  script(name: string, text: string): void {
    writeFileSync(join(this.#dir, "scripts", name), text);
  }

  /** Writes a file to the tools' directory. */
  file(name: string, text: string | Buffer): void {
    writeFileSync(join(this.#dir, "workspace", name), text);
  }

  get port(): number {
    return Number(this.#address.split(":")[1]);
  }

  get url(): string {
    return `http://${this.#address}`;
  }

  get key(): string {
    return readFileSync(join(this.#dir, "data", "token"), "utf8").trim();
  }

  /** Returns a client that connects directly or to another address. */
  client(url = this.url): PerdureClient {
    return new PerdureClient({ baseUrl: url, key: this.key });
  }

  /** Starts the server and waits until it answers. After a kill, it has the same address. */
  async start(): Promise<void> {
    if (this.#address.endsWith(":0")) {
      this.#address = `127.0.0.1:${await freePort()}`;
      this.#rpc = `127.0.0.1:${await freePort()}`;
    }
    const dir = (name: string) => join(this.#dir, name);
    const p = spawn(
      this.#bin,
      // biome-ignore format: one flag with its value per line
      ["dev", "--addr", this.#address, "--grpc-addr", this.#rpc, "--lease", "2s",
        "--data", dir("data"), "--workspace", dir("workspace"), "--scripts", dir("scripts")],
      { cwd: dir("workspace"), env: { PATH: process.env.PATH, HOME: dir("home"), LANG: "C.UTF-8" } },
    );
    this.#process = p;
    for (const out of [p.stdout, p.stderr]) out?.on("data", (d: Buffer) => (this.#output += d.toString()));
    await eventually("the server answers", async () => {
      if (p.exitCode !== null) throw new Error(`the server ended: ${this.#output}`);
      return existsSync(dir("data/token")) && (await fetch(`${this.url}/readyz`)).ok;
    });
  }

  /** Ends the server with SIGKILL. */
  async kill(): Promise<void> {
    const p = this.#process;
    if (!p || p.exitCode !== null || p.signalCode !== null) return;
    const gone = new Promise((resolve) => p.once("exit", resolve));
    p.kill("SIGKILL");
    await gone;
  }

  /**
   * Starts a separate worker, or restarts it. The worker's name determines its data directory.
   */
  worker(name: string, queue: string): ChildProcess {
    const dir = (of: string) => join(this.#dir, of);
    return spawn(
      this.#bin,
      // biome-ignore format: one flag with its value per line
      ["worker", "--server", this.#rpc, "--key", this.key, "--queue", queue,
        "--data", dir(name), "--workspace", dir("workspace"), "--scripts", dir("scripts")],
      {
        cwd: dir("workspace"),
        env: { PATH: process.env.PATH, HOME: dir("home"), LANG: "C.UTF-8" },
        stdio: "ignore",
      },
    );
  }

  /** Starts the worker of an example. */
  exampleWorker(name: string): ChildProcess {
    return spawn(example(name), [], {
      env: { PATH: process.env.PATH, PERDURE_SERVER: this.#rpc, PERDURE_KEY: this.key },
      stdio: "ignore",
    });
  }

  /** Copies the data directory of a stopped server to another place, or back. */
  copyData(to: string): void {
    const filter = (from: string) => !from.endsWith(".sock");
    cpSync(join(this.#dir, "data"), join(this.#dir, to), { recursive: true, filter });
  }

  restoreData(from: string): void {
    rmSync(join(this.#dir, "data"), { recursive: true });
    cpSync(join(this.#dir, from), join(this.#dir, "data"), { recursive: true });
  }

  async close(): Promise<void> {
    await this.kill();
    rmSync(this.#dir, { recursive: true, force: true });
  }
}

/**
 * Returns a port on which nothing listens, because a restart needs the same port again. The
 * port is below the range from which systems assign ports to connections, so no connection
 * takes it in the meantime.
 */
async function freePort(): Promise<number> {
  for (;;) {
    const port = 10_000 + Math.floor(Math.random() * 20_000);
    const free = await new Promise<boolean>((resolve) => {
      const s = createServer();
      s.once("error", () => resolve(false));
      s.listen(port, "127.0.0.1", () => s.close(() => resolve(true)));
    });
    if (free) return port;
  }
}

/** Checks every few milliseconds until the condition is met. */
export async function eventually(what: string, there: () => Promise<boolean>): Promise<void> {
  const limit = Date.now() + 60_000;
  for (;;) {
    try {
      if (await there()) return;
    } catch (thrown) {
      if (!(thrown instanceof TypeError)) throw thrown; // fetch could not connect
    }
    if (Date.now() > limit) throw new Error(`${what}: not within a minute`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/**
 * Opens a WebSocket with the package ws, because Node 20 has none of its own and a key needs a
 * header.
 */
export const open: OpenWebSocket = (url, headers) => {
  const socket = new WebSocket(url, { headers });
  socket.on("error", () => undefined);
  return socket as unknown as WebSocketLike;
};
