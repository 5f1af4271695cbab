// Drives the WebSocket of /v1/responses with the official clients. OPENAI_BASE_URL and
// OPENAI_API_KEY select the server.
import assert from "node:assert/strict";
import OpenAI7 from "openai";
import { ResponsesWS as WS7 } from "openai/resources/responses/ws";
import OpenAI6 from "openai6";
import { ResponsesWS as WS6 } from "openai6/resources/responses/ws";

const ENDS = ["response.completed", "response.incomplete", "response.failed", "error"];

/** A connection whose messages are read one after the other. */
class Talk {
  constructor(WS, client) {
    this.ws = new WS(client);
    this.closed = new Promise((resolve) => this.ws.on("close", (code) => resolve(code)));
    this.ws.on("error", () => {}); // errors are read as events
    this.events = [];
    this.ws.on("event", (event) => {
      this.events.push(event);
      this.wake?.();
    });
  }
  send(members) {
    this.ws.send({ type: "response.create", ...members });
  }
  async next() {
    while (this.events.length === 0) await new Promise((resolve) => (this.wake = resolve));
    return this.events.shift();
  }
  /** Returns the events of one turn. */
  async turn(members) {
    if (members) this.send(members);
    const all = [];
    do all.push(await this.next());
    while (!ENDS.includes(all.at(-1).type));
    return all;
  }
  async create(members) {
    const end = (await this.turn(members)).at(-1);
    assert.notEqual(end.type, "error", JSON.stringify(end));
    return end.response;
  }
  async refused(members, status, param, code) {
    const [event] = await this.turn(members);
    assert.deepEqual([event.type, event.status, event.error?.param, event.error?.code], ["error", status, param, code], JSON.stringify(event));
  }
}

const text = (r) => r.output.filter((i) => i.type === "message").map((i) => i.content.map((c) => c.text).join("")).join("");
const tools = [
  { type: "function", name: "get_weather", description: "The weather of a city.", strict: false,
    parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] } },
];

async function all(stream) {
  const events = [];
  for await (const event of stream) events.push(event);
  return events;
}

const chain = { model: "scripted/chain", store: false };

const suite = {
  async "a response is its stream"({ client, open }) {
    const got = await open().turn({ model: "scripted/chain", input: "hi" });
    assert.equal(text(got.at(-1).response), "First answer.");
    got.forEach((event, i) => assert.equal(event.sequence_number, i));
    assert.deepEqual(got, await all(await client.responses.retrieve(got[0].response.id, { stream: true })));
  },
  async "two creates at once are answered in turn"({ open }) {
    const talk = open();
    talk.send({ ...chain, input: "a" });
    talk.send({ ...chain, input: "b" });
    const [a, b] = [await talk.turn(), await talk.turn()];
    assert.notEqual(a[0].response.id, b[0].response.id);
    for (const events of [a, b]) assert.deepEqual([...new Set(events.map((e) => e.response?.id).filter(Boolean))].length, 1);
  },
  async "a chain that is not stored, a tool loop"({ open }) {
    const talk = open();
    const ask = { model: "scripted/tools", store: false, tools };
    const a = await talk.create({ ...ask, input: "the weather?" });
    const calls = a.output.filter((i) => i.type === "function_call");
    assert.equal(calls.length, 2);
    const input = calls.map((c) => ({ type: "function_call_output", call_id: c.call_id, output: "sunny" }));
    const b = await talk.create({ ...ask, input, previous_response_id: a.id });
    assert.equal(text(b), "It is sunny.");
    await open().refused({ ...ask, input: "go on", previous_response_id: b.id }, 400, "previous_response_id", "previous_response_not_found");
  },
  async "a failed continuation ends the chain"({ open }) {
    const talk = open();
    const a = await talk.create({ ...chain, input: "a" });
    const bad = [{ type: "function_call_output", call_id: "call_missing", output: "x" }];
    await talk.refused({ ...chain, input: bad, previous_response_id: a.id }, 400, "input", "invalid_value");
    await talk.refused({ ...chain, input: "b", previous_response_id: a.id }, 400, "previous_response_id", "previous_response_not_found");
    assert.equal(text(await talk.create({ ...chain, input: "again" })), "First answer.");
  },
  async "a chain that is stored goes on anywhere"({ client, open }) {
    const a = await open().create({ model: "scripted/chain", input: "a" });
    const b = await client.responses.create({ model: "scripted/chain", input: "b", previous_response_id: a.id });
    const c = await open().create({ model: "scripted/chain", input: "c", previous_response_id: b.id });
    assert.deepEqual([text(a), text(b), text(c)], ["First answer.", "Second answer.", "Third answer."]);
  },
  async "a warm-up"({ open }) {
    const talk = open();
    const warm = await talk.create({ ...chain, input: "a", generate: false });
    assert.deepEqual([warm.status, warm.output], ["completed", []]);
    assert.equal(text(await talk.create({ ...chain, input: "b", previous_response_id: warm.id })), "First answer.");
  },
  async "a response that fails, and one that is cut short"({ open }) {
    const talk = open();
    assert.equal((await talk.create({ model: "scripted/fails", input: "hi" })).status, "failed");
    assert.deepEqual((await talk.create({ model: "scripted/cut", input: "hi" })).incomplete_details, { reason: "max_output_tokens" });
  },
  async "a connection that is cut is read on"({ client, open }) {
    const talk = open();
    talk.send({ model: "scripted/slow", input: "hi" });
    const before = [await talk.next(), await talk.next(), await talk.next()];
    talk.ws.socket.platformSocket?.terminate?.() ?? talk.ws.socket.terminate?.() ?? talk.ws.close();
    const id = before[0].response.id;
    const rest = await all(await client.responses.retrieve(id, { stream: true, starting_after: before.at(-1).sequence_number }));
    assert.equal(text(rest.at(-1).response), "One two three four five six seven eight nine ten.");
    assert.deepEqual([...before, ...rest], await all(await client.responses.retrieve(id, { stream: true })));
  },
  async "errors keep the connection"({ open }) {
    const talk = open();
    await talk.refused({ input: "hi" }, 400, "model", "missing_required_parameter");
    await talk.refused({ model: "none", input: "hi" }, 400, "model", "model_not_found");
    await talk.refused({ ...chain, input: "hi", background: true }, 400, "background", "unsupported_parameter");
    assert.equal(text(await talk.create({ ...chain, input: "hi", stream: true })), "First answer.");
  },
};

for (const [version, OpenAI, WS] of [["7", OpenAI7, WS7], ["6", OpenAI6, WS6]]) {
  const client = new OpenAI({ maxRetries: 0 });
  for (const [name, run] of Object.entries(suite)) {
    const talks = [];
    const open = () => {
      talks.push(new Talk(WS, client));
      return talks.at(-1);
    };
    try {
      await run({ client, open });
    } catch (e) {
      throw new Error(`openai ${version}: ${name}: ${e.stack}`);
    }
    talks.forEach((talk) => talk.ws.close());
    console.log(`openai ${version}: ${name}`);
  }
}
