import { expect, test } from "vitest";
import type { Definition } from "../../client/src/index";
import { agentBody, agentDraft } from "../forms/agent";

test("an agent that is saved unchanged has every member that it had", () => {
  const agent = {
    id: "1",
    createdAt: "2026-01-01T00:00:00Z",
    updatedAt: "2026-01-01T00:00:00Z",
    version: 3,
    name: "Careful",
    slug: "careful",
    description: "d",
    systemPrompt: "p",
    models: [{ provider: "a", modelId: "m" }],
    tools: ["bash"],
    config: { maxTurns: 3, compaction: { off: true } },
    approvals: [{ tools: ["bash"], reason: "It changes files." }],
    retention: { checkpoints: "3d" },
    metadata: { team: "x" },
  } as unknown as Definition;
  const { id, createdAt, updatedAt, version, ...whole } = agent;
  expect(agentBody(agentDraft(agent, { providers: [], tools: [] }), agent)).toEqual(whole);
});
