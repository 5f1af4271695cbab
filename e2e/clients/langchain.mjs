// LangChain, with its agent.
import { ChatOpenAI } from "@langchain/openai";
import { HumanMessage, ToolMessage } from "@langchain/core/messages";
import { createAgent, providerStrategy, tool } from "langchain";
import { z } from "zod";
import { cutEverywhere, drive, maxRounds, raw, resuming, Weather } from "./harness.mjs";

const modelOf = (spec, more, fetch) => new ChatOpenAI({
  model: spec.model, apiKey: spec.key, useResponsesApi: true, streaming: spec.stream, maxRetries: 0,
  configuration: { baseURL: spec.url, fetch }, ...more,
});

const toolOf = (weather) => tool((input) => weather.run(input), {
  name: "get_weather", description: weather.description, schema: z.object({ city: z.string() }),
});

/** Runs an agent and returns its final messages. */
async function run(spec, agent, messages) {
  const config = { recursionLimit: 2 * maxRounds };
  if (!spec.stream) return (await agent.invoke({ messages }, config)).messages;
  let state;
  for await (const [mode, chunk] of await agent.stream({ messages }, { ...config, streamMode: ["messages", "values"] })) {
    if (mode === "values") state = chunk;
  }
  return state.messages;
}

/** Sends prompts to the agent, which sends its whole history each time. */
async function whole(spec, fetch) {
  const weather = new Weather();
  const stateless = spec.mode === "stateless" ? { zdrEnabled: true, modelKwargs: { include: ["reasoning.encrypted_content"] } } : {};
  const agent = createAgent({ model: modelOf(spec, stateless, fetch), tools: spec.tools ? [toolOf(weather)] : [] });
  const texts = [];
  let messages = [];
  for (const prompt of spec.prompts) {
    messages = await run(spec, agent, [...messages, new HumanMessage(prompt)]);
    texts.push(messages.at(-1).text);
  }
  return { texts, ran: weather.ran };
}

/** Sends prompts to the model alone. Each prompt names the previous response. */
async function chained(spec) {
  const weather = new Weather();
  const more = spec.mode === "conversation" ? { modelKwargs: { conversation: (await raw(spec, "POST", "/conversations", {})).id } } : {};
  const bare = modelOf(spec, more);
  const model = spec.tools ? bare.bindTools([toolOf(weather)]) : bare;
  const texts = [];
  let previous_response_id;
  for (const prompt of spec.prompts) {
    let fresh = [new HumanMessage(prompt)];
    for (let round = 0; fresh.length > 0; round++) {
      if (round > maxRounds) throw new Error("the loop of tools does not end");
      const answer = await model.invoke(fresh, spec.mode === "stateful" ? { previous_response_id } : {});
      previous_response_id = answer.response_metadata.id;
      fresh = (answer.tool_calls ?? []).map((call) => new ToolMessage({ tool_call_id: call.id, content: weather.run(call.args) }));
      if (fresh.length === 0) texts.push(answer.text);
    }
  }
  return { texts, ran: weather.ran };
}

const talk = (spec) => spec.mode === "stateful" || spec.mode === "conversation" ? chained(spec) : whole(spec);

async function image(spec) {
  const answer = await modelOf(spec).invoke([new HumanMessage({ content: [
    { type: "text", text: "What is this?" }, { type: "image_url", image_url: { url: spec.image } },
  ] })]);
  return { texts: [answer.text] };
}

/** Requests structured output with the agent's own option. */
async function structured(spec) {
  const schema = z.object({ city: z.string(), sunny: z.boolean() });
  const agent = createAgent({ model: modelOf(spec), tools: [], responseFormat: providerStrategy(schema) });
  const answer = await agent.invoke({ messages: [new HumanMessage("The weather of Paris?")] });
  return { object: answer.structuredResponse };
}

/** Disconnects the client during a response, then cancels the response by its id. */
async function cancel(spec) {
  const abort = new AbortController();
  const aborted = [];
  let id;
  try {
    for await (const chunk of await modelOf({ ...spec, stream: true }).stream("hi", { signal: abort.signal })) {
      id ??= chunk.response_metadata?.id;
      if (chunk.text) abort.abort();
    }
  } catch (error) {
    aborted.push(error.name);
  }
  const status = (await raw(spec, "POST", `/responses/${id}/cancel`)).status;
  return { status, end: (await raw(spec, "GET", `/responses/${id}`)).status, aborted: aborted.length > 0 ? ["abort"] : [] };
}

const cut = (spec) => cutEverywhere(spec, (at, count) => whole(at, resuming(at, count)));

await drive({ talk, image, structured, cancel, cut });
