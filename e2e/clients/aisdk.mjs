// The AI SDK: aisdk.mjs PACKAGE PROVIDER CASES.
import { z } from "zod";
import { cutEverywhere, drive, maxRounds, raw, resuming, Weather } from "./harness.mjs";

const { generateText, streamText, tool, stepCountIs, Output, jsonSchema } = await import(process.argv[2]);
const { createOpenAI } = await import(process.argv[3]);

const modelOf = (spec, fetch) => createOpenAI({ baseURL: spec.url, apiKey: spec.key, fetch }).responses(spec.model);

const toolsOf = (weather) => ({
  get_weather: tool({
    description: weather.description, inputSchema: jsonSchema(weather.parameters), execute: (input) => weather.run(input),
  }),
});

/** Runs to the end. Returns the members that generated and streamed results have in common. */
async function run(spec, options) {
  if (!spec.stream) return generateText({ maxRetries: 0, ...options });
  let failure;
  const result = streamText({ maxRetries: 0, onError: ({ error }) => { failure = error; }, ...options });
  const parts = [];
  for await (const part of result.fullStream) parts.push(part.type);
  if (failure) throw failure;
  const response = await result.response;
  return {
    text: await result.text, response, parts, messages: (await result.responseMessages) ?? response.messages,
    output: options.output && await result.output,
  };
}

async function keeping(spec) {
  switch (spec.mode) {
    case "stateless":
      return { store: false, include: ["reasoning.encrypted_content"], forceReasoning: true };
    case "conversation":
      return { conversation: (await raw(spec, "POST", "/conversations", {})).id };
  }
  return {};
}

/** Sends prompts, each with its tool loop. */
async function talk(spec, fetch) {
  const weather = new Weather();
  const openai = await keeping(spec);
  const texts = [];
  let messages = [];
  for (const prompt of spec.prompts) {
    const fresh = { role: "user", content: prompt };
    messages = spec.mode === "stateful" || spec.mode === "conversation" ? [fresh] : [...messages, fresh];
    const answer = await run(spec, {
      model: modelOf(spec, fetch), messages, tools: spec.tools ? toolsOf(weather) : undefined,
      stopWhen: stepCountIs(maxRounds), providerOptions: { openai },
    });
    messages = [...messages, ...(answer.messages ?? answer.responseMessages ?? answer.response.messages)];
    if (spec.mode === "stateful") openai.previousResponseId = answer.response.id;
    texts.push(answer.text);
  }
  return { texts, ran: weather.ran };
}

async function image(spec) {
  const content = [{ type: "text", text: "What is this?" }, { type: "image", image: spec.image }];
  const answer = await run(spec, { model: modelOf(spec), messages: [{ role: "user", content }] });
  return { texts: [answer.text] };
}

async function structured(spec) {
  const answer = await run(spec, {
    model: modelOf(spec), prompt: "The weather of Paris?",
    output: Output.object({ schema: z.object({ city: z.string(), sunny: z.boolean() }) }),
  });
  return { object: answer.output };
}

/** Disconnects the client during a response, then cancels the response by its id. */
async function cancel(spec) {
  const abort = new AbortController();
  const aborted = [];
  let id;
  const result = streamText({ model: modelOf(spec), prompt: "hi", maxRetries: 0, abortSignal: abort.signal, includeRawChunks: true, onError: () => {} });
  for await (const part of result.fullStream) {
    if (part.type === "raw") id ??= part.rawValue.response?.id;
    if (part.type === "text-delta") abort.abort();
    if (part.type === "abort") aborted.push(part.type);
  }
  const status = (await raw(spec, "POST", `/responses/${id}/cancel`)).status;
  return { status, end: (await raw(spec, "GET", `/responses/${id}`)).status, aborted };
}

const cut = (spec) => cutEverywhere(spec, (at, count) => talk(at, resuming(at, count)));

await drive({ talk: (spec) => talk(spec), image, structured, cancel, cut });
