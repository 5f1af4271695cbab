// The OpenAI Agents SDK.
import { Agent, OpenAIConversationsSession, OpenAIProvider, Runner, tool } from "@openai/agents";
import OpenAI from "openai";
import { z } from "zod";
import { cutEverywhere, drive, maxRounds, raw, resuming, Weather } from "./harness.mjs";

const clientOf = (spec, fetch) => new OpenAI({ baseURL: spec.url, apiKey: spec.key, maxRetries: 0, fetch });

const runnerOf = (client) => new Runner({ modelProvider: new OpenAIProvider({ openAIClient: client, useResponses: true }), tracingDisabled: true });

const toolOf = (weather) => tool({
  name: "get_weather", description: weather.description, parameters: z.object({ city: z.string() }), execute: (input) => weather.run(input),
});

/** Runs an agent to its end. */
async function run(spec, runner, agent, input, options) {
  if (!spec.stream) return runner.run(agent, input, { maxTurns: maxRounds, ...options });
  const result = await runner.run(agent, input, { maxTurns: maxRounds, stream: true, ...options });
  for await (const event of result) void event;
  await result.completed;
  if (result.error) throw result.error;
  return result;
}

const settings = {
  stateless: { modelSettings: { store: false, providerData: { include: ["reasoning.encrypted_content"] } } },
};

async function keeping(client, spec) {
  switch (spec.mode) {
    case "conversation":
      return { conversationId: (await client.conversations.create()).id };
    case "session":
      return { session: new OpenAIConversationsSession({ client }) };
  }
  return {};
}

/** Sends prompts, each with its tool loop. */
async function talk(spec, fetch, over) {
  const client = clientOf(spec, fetch);
  const runner = over ?? runnerOf(client);
  const weather = new Weather();
  const options = await keeping(client, spec);
  const agent = new Agent({ name: "assistant", model: spec.model, tools: spec.tools ? [toolOf(weather)] : [], ...settings[spec.mode] });
  const texts = [];
  let history = [];
  for (const prompt of spec.prompts) {
    const whole = spec.mode === "default" || spec.mode === "stateless";
    const input = whole ? [...history, { role: "user", content: prompt }] : prompt;
    const result = await run(spec, runner, agent, input, options);
    history = result.history;
    if (spec.mode === "stateful") options.previousResponseId = result.lastResponseId;
    texts.push(result.finalOutput);
  }
  return { texts, ran: weather.ran };
}

async function image(spec) {
  const agent = new Agent({ name: "assistant", model: spec.model });
  const result = await run(spec, runnerOf(clientOf(spec)), agent, [{ role: "user", content: [
    { type: "input_text", text: "What is this?" }, { type: "input_image", image: spec.image },
  ] }]);
  return { texts: [result.finalOutput] };
}

async function structured(spec) {
  const agent = new Agent({ name: "assistant", model: spec.model, outputType: z.object({ city: z.string(), sunny: z.boolean() }) });
  const result = await run(spec, runnerOf(clientOf(spec)), agent, "The weather of Paris?");
  return { object: result.finalOutput };
}

/** Disconnects the client during a response, then cancels the response by its id. */
async function cancel(spec) {
  const abort = new AbortController();
  const agent = new Agent({ name: "assistant", model: spec.model });
  let id, text;
  const aborted = [];
  try {
    const result = await runnerOf(clientOf(spec)).run(agent, "hi", { stream: true, signal: abort.signal });
    for await (const event of result) {
      if (event.type !== "raw_model_stream_event") continue;
      if (event.data.type === "model") id ??= event.data.event.response?.id;
      if (event.data.type === "output_text_delta") { text = true; abort.abort(); }
    }
    await result.completed;
    if (result.cancelled ?? text) aborted.push("abort");
  } catch (error) {
    aborted.push("abort");
  }
  const status = (await raw(spec, "POST", `/responses/${id}/cancel`)).status;
  return { status, end: (await raw(spec, "GET", `/responses/${id}`)).status, aborted };
}

const cut = (spec) => cutEverywhere(spec, (at, count) => talk(at, resuming(at, count)));

/** Runs talk over the client's own WebSocket transport. */
async function websocket(spec) {
  const provider = new OpenAIProvider({ openAIClient: clientOf(spec), useResponses: true, useResponsesWebSocket: true });
  const runner = new Runner({ modelProvider: provider, tracingDisabled: true });
  try {
    return await talk(spec, undefined, runner);
  } finally {
    await provider.close();
  }
}

await drive({ websocket, talk: (spec) => talk(spec), image, structured, cancel, cut });
