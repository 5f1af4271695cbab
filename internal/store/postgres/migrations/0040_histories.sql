-- +goose Up

LOCK TABLE agent_execution, agent_response IN ACCESS EXCLUSIVE MODE; -- as in 0030

-- What a client knows of the conversation up to the end of a response: a SHA-256 of
-- what was said, and one of that with the calls of tools that ran at the server.
ALTER TABLE agent_response ADD COLUMN IF NOT EXISTS said BYTEA;
ALTER TABLE agent_response ADD COLUMN IF NOT EXISTS said_and_run BYTEA;

CREATE INDEX IF NOT EXISTS idx_agent_response_said ON agent_response (said, created_at) WHERE said IS NOT NULL;

-- +goose Down
DROP INDEX idx_agent_response_said;
ALTER TABLE agent_response DROP COLUMN said_and_run;
ALTER TABLE agent_response DROP COLUMN said;
