-- +goose Up

LOCK TABLE agent_execution, task_execution, log_record, log_chunk IN ACCESS EXCLUSIVE MODE;

-- Foreign keys replace the triggers that checked the same for each statement: see decision 46. The
-- triggers have checked the rows that exist. NOT VALID, because a check would read whole tables while
-- they are locked.
DROP TRIGGER execution_empties ON agent_execution;
DROP TRIGGER execution_goes ON agent_execution;
DROP TRIGGER execution_stays ON agent_execution;
DROP TRIGGER execution_stays ON task_execution;
DROP TRIGGER execution_stays ON log_chunk;
DROP TRIGGER execution_stays ON log_record;
DROP TRIGGER execution_is_there ON task_execution;
DROP TRIGGER execution_is_there ON log_chunk;
DROP TRIGGER execution_is_there ON log_record;
DROP FUNCTION execution_goes();
DROP FUNCTION execution_stays();
DROP FUNCTION execution_is_there();
ALTER TABLE task_execution ADD CONSTRAINT task_execution_agent_execution_id_fkey
    FOREIGN KEY (agent_execution_id) REFERENCES agent_execution (id) ON DELETE CASCADE NOT VALID;
ALTER TABLE log_chunk ADD CONSTRAINT log_chunk_agent_execution_id_fkey
    FOREIGN KEY (agent_execution_id) REFERENCES agent_execution (id) ON DELETE CASCADE NOT VALID;
ALTER TABLE log_record ADD CONSTRAINT log_record_agent_execution_id_fkey
    FOREIGN KEY (agent_execution_id) REFERENCES agent_execution (id) ON DELETE CASCADE NOT VALID;

-- +goose Down
LOCK TABLE agent_execution, task_execution, log_record, log_chunk IN ACCESS EXCLUSIVE MODE;
ALTER TABLE log_record DROP CONSTRAINT log_record_agent_execution_id_fkey;
ALTER TABLE log_chunk DROP CONSTRAINT log_chunk_agent_execution_id_fkey;
ALTER TABLE task_execution DROP CONSTRAINT task_execution_agent_execution_id_fkey;
-- +goose StatementBegin
CREATE FUNCTION execution_goes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'TRUNCATE' THEN
        TRUNCATE log_record, log_chunk, task_execution;
    ELSE
        DELETE FROM log_record WHERE agent_execution_id = OLD.id;
        DELETE FROM log_chunk WHERE agent_execution_id = OLD.id;
        DELETE FROM task_execution WHERE agent_execution_id = OLD.id;
    END IF;
    RETURN NULL;
END $$;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE FUNCTION execution_is_there() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM (SELECT DISTINCT agent_execution_id FROM made) AS m
        WHERE NOT EXISTS (SELECT FROM agent_execution x WHERE x.id = m.agent_execution_id FOR KEY SHARE);
    IF FOUND THEN
        RAISE foreign_key_violation USING MESSAGE = 'a row of ' || TG_TABLE_NAME || ' belongs to an execution that is not there', TABLE = TG_TABLE_NAME;
    END IF;
    RETURN NULL;
END $$;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE FUNCTION execution_stays() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE foreign_key_violation USING MESSAGE = 'a row stays with its execution', TABLE = TG_TABLE_NAME;
END $$;
-- +goose StatementEnd
CREATE TRIGGER execution_empties BEFORE TRUNCATE ON agent_execution
    FOR EACH STATEMENT EXECUTE FUNCTION execution_goes();
CREATE TRIGGER execution_goes AFTER DELETE ON agent_execution
    FOR EACH ROW EXECUTE FUNCTION execution_goes();
CREATE TRIGGER execution_is_there AFTER INSERT ON log_chunk
    REFERENCING NEW TABLE AS made FOR EACH STATEMENT EXECUTE FUNCTION execution_is_there();
CREATE TRIGGER execution_is_there AFTER INSERT ON log_record
    REFERENCING NEW TABLE AS made FOR EACH STATEMENT EXECUTE FUNCTION execution_is_there();
CREATE TRIGGER execution_is_there AFTER INSERT ON task_execution
    REFERENCING NEW TABLE AS made FOR EACH STATEMENT EXECUTE FUNCTION execution_is_there();
CREATE TRIGGER execution_stays BEFORE UPDATE OF id ON agent_execution
    FOR EACH STATEMENT EXECUTE FUNCTION execution_stays();
CREATE TRIGGER execution_stays BEFORE UPDATE OF agent_execution_id ON log_chunk
    FOR EACH STATEMENT EXECUTE FUNCTION execution_stays();
CREATE TRIGGER execution_stays BEFORE UPDATE OF agent_execution_id ON log_record
    FOR EACH STATEMENT EXECUTE FUNCTION execution_stays();
CREATE TRIGGER execution_stays BEFORE UPDATE OF agent_execution_id ON task_execution
    FOR EACH STATEMENT EXECUTE FUNCTION execution_stays();
