import { expect, test } from "vitest";
import type { AgentConfig, Definition } from "../../client/src/index";
import { PerdureError } from "../../client/src/index";
import { configOf, draftOf, emptyDraft, faultsFrom } from "../forms/draft";

test.each<AgentConfig>([
  {},
  { net: "open" },
  { net: "loopback" },
  { net: "none" },
  { maxTurns: 3, maxTokens: 9, temperature: 0.5, thinking: "high", net: "none" },
])("a definition's configuration %j comes through the form", (config) => {
  expect(configOf(draftOf({ config } as Definition))).toEqual(config);
});

test("a draft says nothing of the network unless one is chosen", () => {
  expect(configOf(emptyDraft)).toEqual({});
  expect(configOf({ ...emptyDraft, net: "loopback" })).toEqual({ net: "loopback" });
});

test("what the server says of the network is shown at its field", () => {
  const refused = new PerdureError("invalid_argument", "no", {
    status: 400,
    fields: [{ location: "body.config.net", message: "is not one of open, loopback, none" }],
  });
  expect(faultsFrom(refused).net).toBe("is not one of open, loopback, none");
});
