-- +goose Up

-- These indexes are for lists in an order. With a condition that only such lists have, PostgreSQL
-- never uses them to look up one row by its id, which would read all rows of the execution or webhook.
LOCK TABLE agent_signal, agent_response, question, delivery IN ACCESS EXCLUSIVE MODE;

DROP INDEX IF EXISTS idx_agent_signal_all;
CREATE INDEX idx_agent_signal_all ON agent_signal (agent_execution_id, signal_order)
    WHERE signal_order > 0;
DROP INDEX IF EXISTS idx_agent_response_pos;
CREATE INDEX idx_agent_response_pos ON agent_response (agent_execution_id, first_pos)
    WHERE first_pos >= 0;
DROP INDEX IF EXISTS idx_question_execution;
CREATE INDEX idx_question_execution ON question (agent_execution_id, number)
    WHERE number > 0;
DROP INDEX IF EXISTS idx_delivery_status;
CREATE INDEX idx_delivery_status ON delivery (webhook_id, status, id)
    WHERE attempts >= 0;

-- +goose Down
LOCK TABLE agent_signal, agent_response, question, delivery IN ACCESS EXCLUSIVE MODE;
DROP INDEX idx_agent_signal_all;
CREATE INDEX idx_agent_signal_all ON agent_signal (agent_execution_id, signal_order);
DROP INDEX idx_agent_response_pos;
CREATE INDEX idx_agent_response_pos ON agent_response (agent_execution_id, first_pos);
DROP INDEX idx_question_execution;
CREATE INDEX idx_question_execution ON question (agent_execution_id, number);
DROP INDEX idx_delivery_status;
CREATE INDEX idx_delivery_status ON delivery (webhook_id, status, id);
