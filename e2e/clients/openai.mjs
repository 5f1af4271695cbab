// The official client: openai.mjs PACKAGE CASES.
import { cutEverywhere, drive, maxRounds, Weather } from "./harness.mjs";

const { default: OpenAI } = await import(process.argv[2]);
const { zodTextFormat } = await import(`${process.argv[2]}/helpers/zod`);
const { z } = await import("zod");

const clientOf = (spec) => new OpenAI({ baseURL: spec.url, apiKey: spec.key, maxRetries: 0 });

const toolOf = (weather) => ({
  type: "function", name: "get_weather", description: weather.description, parameters: weather.parameters, strict: true,
});

/** Returns what each way of storing the conversation adds to a create request. */
async function keeping(client, spec) {
  switch (spec.mode) {
    case "stateless":
      return { store: false, include: ["reasoning.encrypted_content"] };
    case "conversation":
      return { conversation: (await client.conversations.create()).id };
  }
  return {};
}

const create = (client, stream, body) =>
  stream ? client.responses.stream(body).finalResponse() : client.responses.create(body);

const textOf = (answer) => answer.output.filter((item) => item.type === "message").map((item) => item.content[0].text).join("");

/** Sends prompts, each with its tool loop. make creates a response. */
async function talk(spec, make = (client, body) => create(client, spec.stream, body)) {
  const client = clientOf(spec);
  const weather = new Weather();
  const more = await keeping(client, spec);
  const whole = spec.mode === "default" || spec.mode === "stateless";
  const texts = [];
  let history = [];
  let previous;
  for (const prompt of spec.prompts) {
    let fresh = [{ role: "user", content: prompt }];
    for (let round = 0; fresh.length > 0; round++) {
      if (round > maxRounds) throw new Error("the loop of tools does not end");
      if (spec.mode === "stateful") more.previous_response_id = previous;
      history = [...history, ...fresh];
      const body = { model: spec.model, tools: spec.tools ? [toolOf(weather)] : undefined, input: whole ? history : fresh, ...more };
      const answer = await make(client, body);
      previous = answer.id;
      history = [...history, ...answer.output];
      fresh = answer.output.filter((item) => item.type === "function_call").map((call) => ({
        type: "function_call_output", call_id: call.call_id,
        output: call.name === "get_weather" ? weather.run(JSON.parse(call.arguments)) : `there is no ${call.name}`,
      }));
      if (fresh.length === 0) texts.push(answer.output_text ?? textOf(answer));
    }
  }
  return { texts, ran: weather.ran };
}

async function image(spec) {
  const client = clientOf(spec);
  const answer = await create(client, spec.stream, {
    model: spec.model, input: [{ role: "user", content: [
      { type: "input_text", text: "What is this?" }, { type: "input_image", image_url: spec.image, detail: "auto" },
    ] }],
  });
  return { texts: [answer.output_text] };
}

async function structured(spec) {
  const body = {
    model: spec.model, input: "The weather of Paris?",
    text: { format: zodTextFormat(z.object({ city: z.string(), sunny: z.boolean() }), "weather") },
  };
  const client = clientOf(spec);
  const answer = spec.stream ? await client.responses.stream(body).finalResponse() : await client.responses.parse(body);
  return { object: answer.output_parsed };
}

async function cancel(spec) {
  const client = clientOf(spec);
  const made = await client.responses.create({ model: spec.model, input: "hi", background: true });
  let cancelled, end;
  for await (const event of await client.responses.retrieve(made.id, { stream: true })) {
    if (event.type === "response.output_text.delta") cancelled ??= client.responses.cancel(made.id);
    end = event;
  }
  return { status: (await cancelled).status, end: end.response.status };
}

/** Reads a stream that breaks off and that the client itself resumes. */
async function resumed(client, body, count) {
  const events = [];
  try {
    for await (const event of await client.responses.create({ ...body, stream: true })) events.push(event);
  } catch (error) {
    if (events.length === 0) throw error;
    count();
    const id = events[0].response.id;
    const starting_after = events.at(-1).sequence_number;
    for await (const event of await client.responses.retrieve(id, { stream: true, starting_after })) events.push(event);
    const again = [];
    for await (const event of await client.responses.retrieve(id, { stream: true })) again.push(event);
    if (JSON.stringify(again) !== JSON.stringify(events)) throw new Error("the stream read again is another one", { cause: error });
  }
  return events.at(-1).response;
}

const cut = (spec) => cutEverywhere(spec, (at, count) => talk(at, (client, body) => resumed(client, body, count)));

/**
 * Runs talk over one WebSocket. In stateless mode, the connection holds the chain of responses.
 */
async function websocket(spec) {
  const { ResponsesWS } = await import(`${process.argv[2]}/resources/responses/ws`);
  const ws = new ResponsesWS(clientOf(spec));
  const messages = ws.stream();
  try {
    return await talk({ ...spec, mode: "stateful" }, async (client, body) => {
      ws.send({ type: "response.create", ...body, store: spec.mode === "stateful" });
      for (;;) {
        const { value, done } = await messages.next();
        if (done || value.type === "close") throw new Error("the connection was closed");
        if (value.type === "error") throw value.error;
        if (value.type === "message" && value.message.type === "error") throw new Error(JSON.stringify(value.message));
        if (value.message?.type === "response.completed") return value.message.response;
      }
    });
  } finally {
    ws.close();
  }
}

await drive({ websocket, talk: (spec) => talk(spec), image, structured, cancel, cut });
