-- +goose Up

LOCK TABLE agent_execution, question, question_link IN ACCESS EXCLUSIVE MODE;

-- The details of a question over 32 KiB are a blob.
ALTER TABLE question ADD COLUMN IF NOT EXISTS details_blob UUID;
CREATE INDEX IF NOT EXISTS idx_question_blob ON question (agent_execution_id, details_blob) WHERE details_blob IS NOT NULL;

-- The keys that a question with notAsker excludes, as JSON. NULL: they were not recorded.
ALTER TABLE question ADD COLUMN IF NOT EXISTS askers TEXT;
-- The keys of the signals that the current response has taken, as JSON. NULL: they were not recorded.
ALTER TABLE agent_execution ADD COLUMN IF NOT EXISTS askers TEXT;

-- Links that have expired are deleted.
CREATE INDEX IF NOT EXISTS idx_question_link_expiry ON question_link (expires_at);

-- +goose Down
LOCK TABLE agent_execution, question, question_link IN ACCESS EXCLUSIVE MODE;
DROP INDEX idx_question_link_expiry;
ALTER TABLE agent_execution DROP COLUMN askers;
ALTER TABLE question DROP COLUMN askers;
DROP INDEX idx_question_blob;
ALTER TABLE question DROP COLUMN details_blob;
