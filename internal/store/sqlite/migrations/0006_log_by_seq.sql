-- +goose Up

-- Events and blocks by seq, for readers that count events: pages of a
-- WebSocket, and streams that go on after a seq.
CREATE UNIQUE INDEX idx_log_record_seq ON log_record (agent_execution_id, seq);
CREATE UNIQUE INDEX idx_log_block_seq ON log_block (agent_execution_id, seq) WHERE event = 0 AND seq > 0;

-- +goose Down
DROP INDEX idx_log_block_seq;
DROP INDEX idx_log_record_seq;
