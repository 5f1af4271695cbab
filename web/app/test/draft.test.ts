import { expect, test } from "vitest";
import type { AgentConfig, Definition } from "../../client/src/index";
import { PerdureError } from "../../client/src/index";
import { type Catalog, configOf, draftOf, emptyDraft, faultsFrom, faultsOf } from "../forms/draft";

test.each<AgentConfig>([
  {},
  { net: "open" },
  { net: "loopback" },
  { net: "none" },
  { compaction: { at: 0.5 } },
  { compaction: { off: true } },
  { compaction: { at: 0.9, off: false } },
  { maxTurns: 3, maxTokens: 9, temperature: 0.5, thinking: "high", net: "none" },
])("a definition's configuration %j comes through the form", (config) => {
  expect(configOf(draftOf({ config } as Definition))).toEqual(config);
});

test("a draft says nothing of the network unless one is chosen", () => {
  expect(configOf(emptyDraft(catalog))).toEqual({});
  expect(configOf({ ...emptyDraft(catalog), net: "loopback" })).toEqual({ net: "loopback" });
});

const catalog: Catalog = {
  providers: [
    { name: "a", registered: false },
    { name: "b", registered: true, defaultModel: "m" },
  ],
  tools: [{ name: "look", description: "Looks.", readOnly: true, network: false, registered: true }],
};

test("a new agent has a registered provider and every built-in tool", () => {
  expect(emptyDraft(catalog)).toMatchObject({ models: [{ provider: "b", modelId: "" }], tools: ["look"] });
});

test("without a registered provider, a new agent has the first one", () => {
  const [first] = catalog.providers;
  expect(emptyDraft({ providers: first ? [first] : [], tools: [] }).models).toEqual([
    { provider: "a", modelId: "" },
  ]);
  expect(emptyDraft({ providers: [], tools: [] }).models).toEqual([{ provider: "", modelId: "" }]);
});

test("what the server says of the network is shown at its field", () => {
  const refused = new PerdureError("invalid_argument", "no", {
    status: 400,
    fields: [{ location: "body.config.net", message: "is not one of open, loopback, none" }],
  });
  expect(faultsFrom(refused).net).toBe("is not one of open, loopback, none");
});

test.each(["0.05", "1", "x"])("compaction at %s is refused before a request is sent", (compactAt) => {
  expect(faultsOf({ ...emptyDraft(catalog), compactAt }).compactAt).toBe("A number from 0.1 to 0.95.");
});

test("what the server says of compaction is shown at its field", () => {
  const fields = [{ location: "config.compaction.at", message: "is 2" }];
  const refused = new PerdureError("invalid_argument", "no", { status: 400, fields });
  expect(faultsFrom(refused).compactAt).toBe("is 2");
});
