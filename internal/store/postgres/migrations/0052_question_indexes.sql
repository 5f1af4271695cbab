-- +goose Up

LOCK TABLE question IN ACCESS EXCLUSIVE MODE;

-- The open questions of an execution, and all of them in order, whatever the number of others.
CREATE INDEX IF NOT EXISTS idx_question_waiting ON question (agent_execution_id) WHERE status = 'open';
CREATE INDEX IF NOT EXISTS idx_question_execution ON question (agent_execution_id, number);

-- +goose Down
DROP INDEX idx_question_execution;
DROP INDEX idx_question_waiting;
