-- +goose Up

LOCK TABLE agent_execution, agent_entry, task_execution IN ACCESS EXCLUSIVE MODE;

-- Where the model's context begins: see decision 048. A compaction has the place of the first entry
-- that it keeps and, as JSON, the entries that it pins and leaves out. The columns are NULL in other
-- entries, and in compactions of earlier builds. The context of those is read from the whole path.
ALTER TABLE agent_entry ADD COLUMN IF NOT EXISTS keep_segment BIGINT;
ALTER TABLE agent_entry ADD COLUMN IF NOT EXISTS keep_depth BIGINT;
ALTER TABLE agent_entry ADD COLUMN IF NOT EXISTS barrier TEXT;
CREATE INDEX IF NOT EXISTS idx_agent_entry_compaction ON agent_entry (agent_execution_id, segment, depth)
    WHERE entry_type = 'compaction';

-- What a worker must support to run an execution or a task: a bit for each feature.
ALTER TABLE agent_execution ADD COLUMN IF NOT EXISTS needs_features BIGINT NOT NULL DEFAULT 0;
ALTER TABLE task_execution ADD COLUMN IF NOT EXISTS needs_features BIGINT NOT NULL DEFAULT 0;
UPDATE agent_execution SET needs_features = 1
    WHERE id IN (SELECT agent_execution_id FROM agent_entry WHERE entry_type = 'compaction');

-- +goose Down
LOCK TABLE agent_execution, agent_entry, task_execution IN ACCESS EXCLUSIVE MODE;
DROP INDEX idx_agent_entry_compaction;
ALTER TABLE agent_entry DROP COLUMN keep_segment;
ALTER TABLE agent_entry DROP COLUMN keep_depth;
ALTER TABLE agent_entry DROP COLUMN barrier;
ALTER TABLE agent_execution DROP COLUMN needs_features;
ALTER TABLE task_execution DROP COLUMN needs_features;
