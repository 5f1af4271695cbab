-- +goose Up

-- Signals of an execution in any state are listed in their order.
CREATE INDEX IF NOT EXISTS idx_agent_signal_all ON agent_signal (agent_execution_id, signal_order);

-- +goose Down
DROP INDEX idx_agent_signal_all;
