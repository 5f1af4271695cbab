-- +goose Up

-- Servers of versions before 43 inserted entries without their places, which this trigger computed.
-- They cannot use these tables any more.
DROP TRIGGER place_entry ON agent_entry;
DROP FUNCTION place_entry();

-- +goose Down
-- +goose StatementBegin
CREATE FUNCTION place_entry() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    on_path BOOLEAN := NEW.entry_type <> 'llm_call';
    parent_segment BIGINT := 0;
    parent_depth BIGINT := 0;
BEGIN
    IF NEW.parent_id IS NOT NULL THEN
        SELECT e.segment, e.depth INTO parent_segment, parent_depth FROM agent_entry e
            WHERE e.agent_execution_id = NEW.agent_execution_id AND e.id = NEW.parent_id;
        IF parent_depth IS NULL THEN
            RETURN NEW;
        END IF;
    END IF;
    IF NOT on_path THEN
        NEW.segment := parent_segment;
        NEW.depth := -abs(parent_depth);
        RETURN NEW;
    END IF;
    NEW.segment := parent_segment;
    NEW.depth := abs(parent_depth) + 1;
    IF parent_depth < 0 OR EXISTS (SELECT 1 FROM agent_entry e WHERE e.agent_execution_id = NEW.agent_execution_id
            AND e.segment = NEW.segment AND e.depth = NEW.depth AND e.depth > 0) THEN
        SELECT coalesce(max(s.segment), 0) + 1 INTO NEW.segment FROM agent_segment s WHERE s.agent_execution_id = NEW.agent_execution_id;
        INSERT INTO agent_segment (agent_execution_id, segment, base_segment, base_depth)
            VALUES (NEW.agent_execution_id, NEW.segment, parent_segment, abs(parent_depth));
    END IF;
    RETURN NEW;
END $$;
-- +goose StatementEnd
CREATE TRIGGER place_entry BEFORE INSERT ON agent_entry
    FOR EACH ROW WHEN (NEW.depth IS NULL) EXECUTE FUNCTION place_entry();
