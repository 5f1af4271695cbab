// Drives /v1/responses with the official client. OPENAI_BASE_URL and OPENAI_API_KEY select the
// server; the arguments select the case.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import OpenAI from "openai6";

const client = new OpenAI({ maxRetries: 0 });
const [what, ...args] = process.argv.slice(2);

const tools = [
  { type: "function", name: "get_weather", description: "The weather of a city.", strict: false,
    parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] } },
];

async function all(stream) {
  const events = [];
  for await (const event of stream) events.push(event);
  return events;
}

/**
 * Checks that the stream of a response after each of its events is the rest of the whole
 * stream.
 */
async function cutEverywhere(id, whole) {
  whole.forEach((event, i) => assert.equal(event.sequence_number, i));
  for (let i = 0; i < whole.length; i++) {
    assert.deepEqual(await all(await client.responses.retrieve(id, { stream: true, starting_after: i })), whole.slice(i + 1));
  }
  assert.deepEqual(await all(await client.responses.retrieve(id, { stream: true })), whole);
}

async function refused(promise, status, param, code) {
  await assert.rejects(promise, (e) => {
    assert.ok(e instanceof OpenAI.APIError, String(e));
    assert.deepEqual([e.status, e.param, e.code], [status, param, code], e.message);
    return true;
  });
}

const suite = {
  async "create, retrieve and input items"() {
    const r = await client.responses.create({ model: "scripted/chain", input: "hi", metadata: { k: "v" } });
    assert.equal(r.status, "completed");
    assert.equal(r.output_text, "First answer.");
    assert.deepEqual(r.output.map((i) => i.type), ["reasoning", "message"]);
    assert.deepEqual(await client.responses.retrieve(r.id), r);
    const items = await all(client.responses.inputItems.list(r.id));
    assert.equal(items[0].content[0].text, "hi");
  },
  async "approvals of tool calls"() {
    const defined = await fetch(new URL("/api/orgs/default/agent-definitions", process.env.OPENAI_BASE_URL), {
      method: "POST", headers: { Authorization: `Bearer ${process.env.OPENAI_API_KEY}`, "Content-Type": "application/json" },
      body: JSON.stringify({
        name: "asker", slug: "asker", models: [{ provider: "scripted", modelId: "approves" }], tools: ["bash"], approvals: "ask",
      }),
    });
    assert.equal(defined.status, 201, await defined.text());
    const requests = (r) => r.output.filter((i) => i.type === "mcp_approval_request");
    const answer = (request, approve) => ({
      model: "asker", previous_response_id: first.id, input: [{ type: "mcp_approval_response", approval_request_id: request.id, approve }],
    });
    const first = await client.responses.create({ model: "asker", input: "hi" });
    assert.equal(first.status, "in_progress");
    assert.deepEqual(requests(first).map((i) => [i.name, i.arguments]), [["bash", '{"command": "echo one"}']]);
    const second = await client.responses.create(answer(requests(first)[0], true));
    assert.deepEqual([second.id, second.status, requests(second).length], [first.id, "in_progress", 2]);
    assert.deepEqual(await client.responses.retrieve(first.id), second);
    const rest = await all(await client.responses.create({ ...answer(requests(second)[1], false), stream: true }));
    assert.equal(rest.at(-1).response.status, "completed");
    assert.equal((await client.responses.retrieve(first.id)).output_text, "Done.");
    const whole = await all(await client.responses.retrieve(first.id, { stream: true }));
    assert.deepEqual(rest, whole.slice(rest[0].sequence_number));
    await cutEverywhere(first.id, whole);
    await refused(client.responses.create(answer(requests(second)[1], true)), 409, "input[0].approval_request_id", "question_decided");
  },
  async "a chain of three, and branches from its middle"() {
    const ask = (input, previous) => client.responses.create({ model: "scripted/chain", input, previous_response_id: previous });
    const a = await ask("a");
    const b = await ask("b", a.id);
    const c = await ask("c", b.id);
    const branch = await ask("d", a.id);
    const other = await ask("e", a.id);
    assert.deepEqual([b, c, branch, other].map((r) => r.output_text), ["Second answer.", "Third answer.", "Second answer.", "Second answer."]);
    assert.equal((await ask("f", branch.id)).output_text, "Third answer.");
  },
  async "a stream, cut at every event"() {
    const whole = await all(await client.responses.create({ model: "scripted/chain", input: "hi", stream: true }));
    assert.equal(whole[0].type, "response.created");
    assert.equal(whole.at(-1).type, "response.completed");
    const text = whole.filter((e) => e.type === "response.output_text.delta").map((e) => e.delta).join("");
    assert.equal(text, "First answer.");
    await cutEverywhere(whole[0].response.id, whole);
  },
  async "the client's own accumulation of a stream"() {
    const stream = client.responses.stream({ model: "scripted/tools", input: "hi", tools });
    const final = await stream.finalResponse();
    assert.equal(final.output.find((i) => i.type === "message").content[0].text, "I will ask.");
    assert.equal(final.output.filter((i) => i.type === "function_call").length, 2);
  },
  async "client-side tools"() {
    const create = (input, previous) => client.responses.create({ model: "scripted/tools", input, tools, previous_response_id: previous });
    const r = await create("the weather?");
    const calls = r.output.filter((i) => i.type === "function_call");
    assert.deepEqual(calls.map((c) => JSON.parse(c.arguments).city), ["Paris", "Rome"]);
    const outputs = calls.map((c) => ({ type: "function_call_output", call_id: c.call_id, output: "sunny" }));
    await refused(create(outputs.slice(1), r.id), 400, "input", "invalid_value");
    await refused(create([...outputs, { ...outputs[0], call_id: "call_none" }], r.id), 400, "input", "invalid_value");
    const next = await create(outputs, r.id);
    assert.equal(next.output_text, "It is sunny.");
  },
  async "structured output"() {
    const schema = { type: "object", properties: { n: { type: "number" } }, required: ["n"], additionalProperties: false };
    const r = await client.responses.create({
      model: "scripted/json", input: "a number", text: { format: { type: "json_schema", name: "number", schema, strict: true } },
    });
    assert.deepEqual(JSON.parse(r.output_text), { n: 7 });
    assert.equal(r.text.format.type, "json_schema");
  },
  async "an image"() {
    const image = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    const r = await client.responses.create({
      model: "scripted/chain", input: [{ role: "user", content: [{ type: "input_text", text: "what?" }, { type: "input_image", image_url: image, detail: "auto" }] }],
    });
    const [item] = await all(client.responses.inputItems.list(r.id));
    assert.equal(item.content[1].image_url, image);
  },
  async "max tokens, and a failure"() {
    const cut = await client.responses.create({ model: "scripted/cut", input: "hi" });
    assert.deepEqual([cut.status, cut.incomplete_details], ["incomplete", { reason: "max_output_tokens" }]);
    const events = await all(await client.responses.create({ model: "scripted/fails", input: "hi", stream: true }));
    assert.equal(events.at(-1).type, "response.failed");
    assert.match(events.at(-1).response.error.message, /no such key/);
    await cutEverywhere(events[0].response.id, events);
  },
  async "background, cancel and delete"() {
    const r = await client.responses.create({ model: "scripted/slow", input: "hi", background: true });
    assert.ok(["queued", "in_progress"].includes(r.status));
    const stream = await client.responses.retrieve(r.id, { stream: true });
    const events = [];
    let cancelled;
    for await (const event of stream) {
      events.push(event);
      if (event.type === "response.output_text.delta") cancelled ??= client.responses.cancel(r.id);
    }
    assert.equal((await cancelled).status, "cancelled");
    assert.equal(events.at(-1).response.status, "cancelled");
    await cutEverywhere(r.id, events);
    await client.responses.delete(r.id);
    await refused(client.responses.retrieve(r.id), 404, null, "not_found");
    await refused(client.responses.retrieve(r.id, { stream: true }), 404, null, "not_found");
  },
  async errors() {
    const create = (more) => client.responses.create({ model: "scripted/chain", input: "hi", ...more });
    await refused(create({ model: "none" }), 400, "model", "model_not_found");
    await refused(create({ previous_response_id: "resp_none" }), 400, "previous_response_id", "previous_response_not_found");
    await refused(create({ conversation: "conv_1", previous_response_id: "resp_none" }), 400, "conversation", "mutually_exclusive_parameters");
    await refused(create({ conversation: "conv_1" }), 404, "conversation", "not_found");
    await refused(create({ top_logprobs: 5 }), 400, "top_logprobs", "unsupported_parameter");
    const stranger = new OpenAI({ apiKey: "none", maxRetries: 0 });
    await refused(stranger.models.list(), 401, null, "unauthenticated");
  },
  async "a compaction, whose items are the next input"() {
    const input = [
      { role: "user", content: "I am Ada." },
      { role: "assistant", content: "Hello Ada." },
    ];
    const made = await client.responses.compact({ model: "scripted/compacts", input });
    assert.equal(made.object, "response.compaction");
    assert.deepEqual(made.output.map((i) => i.type), ["message", "compaction"]);
    assert.ok(made.usage.total_tokens > 0);
    const next = await client.responses.create({
      model: "scripted/compacts", input: [...made.output, { role: "user", content: "Who am I?" }],
    });
    assert.equal(next.output_text, "You are Ada.");
    const items = await all(client.responses.inputItems.list(next.id, { order: "asc" }));
    assert.deepEqual(items.map((i) => i.type), ["message", "compaction", "message"]);
    assert.equal(items[1].encrypted_content, made.output[1].encrypted_content);
    const again = await client.responses.compact({ model: "scripted/compacts", previous_response_id: next.id });
    assert.equal(again.output.at(-1).type, "compaction");
    const long = "word ".repeat(1000);
    const asked = (input, previous) => client.responses.create({
      model: "scripted/compacts", input, previous_response_id: previous, context_management: [{ type: "compaction", compact_threshold: 1000 }],
    });
    const first = await asked(long);
    const second = await asked(`Who am I? ${long}`, first.id);
    assert.deepEqual([first, second].map((r) => r.output.map((i) => i.type)), [["message"], ["compaction", "message"]]);
    const changed = { ...made.output[1], encrypted_content: made.output[1].encrypted_content.slice(0, -4) };
    await refused(client.responses.create({ model: "scripted/compacts", input: [changed, input[0]] }), 400, "input[0].encrypted_content", "invalid_encrypted_content");
  },
  async models() {
    assert.equal((await client.models.retrieve("scripted/chain")).id, "scripted/chain");
    await refused(client.models.retrieve("none"), 404, "model", "model_not_found");
    assert.ok(Array.isArray(await all(client.models.list())));
  },
};

const commands = {
  /** Fails if the model does not exist. */
  async model(name) {
    await client.models.retrieve(name);
  },
  /** Runs all cases that need no restart. */
  async suite() {
    for (const [name, test] of Object.entries(suite)) {
      try {
        await test();
      } catch (error) {
        throw new Error(name, { cause: error });
      }
    }
  },
  /** Begins a response in background, reads some of its events and disconnects. */
  async begin(file, count) {
    const events = [];
    const stream = await client.responses.create({ model: "scripted/slow", input: "hi", background: true, stream: true });
    for await (const event of stream) {
      events.push(event);
      if (events.length === Number(count)) break;
    }
    writeFileSync(file, JSON.stringify(events));
    console.log(events[0].response.id);
  },
  /**
   * Resumes reading and checks that both parts form the whole stream. Without exactly, a model
   * call may have been repeated.
   */
  async end(file, exactly) {
    const before = JSON.parse(readFileSync(file, "utf8"));
    const id = before[0].response.id;
    const rest = await all(await client.responses.retrieve(id, { stream: true, starting_after: before.at(-1).sequence_number }));
    const whole = await all(await client.responses.retrieve(id, { stream: true }));
    const read = [...before, ...rest];
    if (exactly === "exactly") assert.deepEqual(read, whole);
    const numbered = (events) => events.map((e) => [e.sequence_number, e.type]);
    assert.deepEqual(numbered(read), numbered(whole));
    await cutEverywhere(id, whole);
    const r = await client.responses.retrieve(id);
    assert.equal(r.status, "completed");
    assert.equal(r.output_text, "One two three four five six seven eight nine ten.");
    assert.deepEqual(whole.at(-1).response, JSON.parse(JSON.stringify({ ...r, output_text: undefined })));
  },
};

await commands[what](...args);
