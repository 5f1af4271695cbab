// Runs the cases of one client. The argument is a JSON array of cases. Each case prints a line
// of JSON with its name and the client's observations, or its error.

/** The number of rounds after which a tool loop counts as endless. */
export const maxRounds = 12;

/** Bounds the search for a cut position after the end of every stream. */
const maxCuts = 200;

/** The time limit of a case in milliseconds. Only a case that hangs reaches it. */
const patience = (spec) => spec.kind === "cut" ? 120_000 : 30_000;

/** A tool that runs in the client. It records its arguments. */
export class Weather {
  ran = [];
  description = "The weather of a city.";
  parameters = {
    type: "object", properties: { city: { type: "string" } }, required: ["city"], additionalProperties: false,
  };
  run({ city }) {
    this.ran.push(city);
    return `sunny in ${city}`;
  }
}

/** Calls the REST endpoint directly, for requests for which a client has no method. */
export async function raw(spec, method, path, body) {
  const answer = await fetch(`${spec.url}${path}`, {
    method, headers: { authorization: `Bearer ${spec.key}`, "content-type": "application/json" },
    body: body && JSON.stringify(body),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
  return JSON.parse(text);
}

/**
 * Returns a fetch that resumes a broken stream, by the id of its response and the number of its
 * last event. A client without its own resumption then sees one whole stream.
 */
export function resuming(spec, count) {
  return async (input, init) => {
    const answer = await fetch(input, init);
    if (!answer.headers.get("content-type")?.startsWith("text/event-stream")) return answer;
    return new Response(ReadableStream.from(whole(spec, answer.body, count)), { status: answer.status, headers: answer.headers });
  };
}

async function* whole(spec, body, count) {
  const at = {};
  const encoder = new TextEncoder();
  for (let source = body; ; source = await readOn(spec, at)) {
    try {
      for await (const frame of frames(source)) {
        note(at, /^data: (.*)$/m.exec(frame)?.[1]);
        yield encoder.encode(`${frame}\n\n`);
      }
    } catch (error) {
      if (at.id === undefined) throw error;
    }
    if (at.ended) return;
    count();
  }
}

/** Records the position of a stream. */
function note(at, data) {
  if (data === "[DONE]") at.ended = true;
  if (!data?.startsWith("{")) return;
  const event = JSON.parse(data);
  at.id ??= event.response?.id;
  at.last = event.sequence_number;
}

async function readOn(spec, at) {
  const next = await fetch(`${spec.url}/responses/${at.id}?stream=true&starting_after=${at.last}`, {
    headers: { authorization: `Bearer ${spec.key}` },
  });
  if (!next.ok) throw new Error(`the resumption: ${next.status} ${await next.text()}`);
  return next.body;
}

/**
 * Runs talk once for each position at which its streams can be cut. talk calls count when it
 * resumes a stream.
 */
export async function cutEverywhere(spec, talk) {
  const cuts = [];
  for (let n = 1, resumed = 1; resumed > 0 && n <= maxCuts; n++) {
    resumed = 0;
    const at = { ...spec, url: spec.url.replace(/\/v1$/, `/cut/${n}/v1`) };
    const { texts, ran } = await talk(at, () => { resumed++; }).catch((error) => {
      throw new Error(`cut after ${n} events`, { cause: error });
    });
    cuts.push({ n, texts, ran, resumed });
  }
  return { cuts };
}

/** Yields the complete frames of a stream of server-sent events. */
async function* frames(body) {
  let rest = "";
  for await (const text of body.pipeThrough(new TextDecoderStream())) {
    const all = (rest + text).split("\n\n");
    rest = all.pop();
    yield* all.filter((frame) => frame !== "");
  }
}

function describe(error) {
  const all = [];
  for (let e = error; e && all.length < 4; e = e.cause) {
    all.push([e.name, e.status ?? e.statusCode, e.message, e.responseBody].filter(Boolean).join(" "));
  }
  return all.join(" <- ").slice(0, 2000);
}

function within(spec, promise) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error("the case did not end")), patience(spec));
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

/** Runs the cases with the functions of a client. */
export async function drive(kinds) {
  for (const spec of JSON.parse(process.argv.at(-1))) {
    let seen;
    try {
      if (!kinds[spec.kind]) throw new Error(`the client has no ${spec.kind}`);
      seen = await within(spec, kinds[spec.kind](spec));
    } catch (error) {
      seen = { error: describe(error) };
    }
    console.log(JSON.stringify({ name: spec.name, ...seen }));
  }
  process.exit(0); // a client may hold connections open
}
