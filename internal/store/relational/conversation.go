package relational

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

var conversationTable = table{name: "conversation", key: 1, columns: []string{
	"id", "org_id", "key_id", "response_id", "items", "bytes", "metadata", "created_at", "executions", "mark",
}}

var (
	upsertConversation     = conversationTable.upsertSQL()
	conversationSelect     = "SELECT " + conversationTable.list("c") + " FROM conversation c WHERE "
	conversationByID       = conversationSelect + "c.id = ?1 AND (?2 = '' OR c.org_id = ?2)"
	conversationByResponse = conversationSelect + "c.response_id = ?1 AND c.org_id = ?2"
)

const (
	dropConversation = "DELETE FROM conversation WHERE id = ?"

	putConversationItem   = "INSERT INTO conversation_item (conversation_id, number, item) VALUES (?, ?, ?)"
	takeConversationItems = "DELETE FROM conversation_item WHERE conversation_id = ?"
	conversationItems     = "SELECT item FROM conversation_item WHERE conversation_id = ? AND number >= ? ORDER BY number LIMIT ?"

	putConversationExecution = "INSERT INTO conversation_execution (conversation_id, number, agent_execution_id) VALUES (?, ?, ?)"
	conversationExecutions   = "SELECT e.agent_execution_id FROM conversation_execution e JOIN agent_execution x ON x.id = e.agent_execution_id" +
		" WHERE e.conversation_id = ? AND " + hidden + " ORDER BY e.number"
)

func conversationScan(c *store.Conversation) []any {
	return []any{
		&c.ID, &c.Org,
		optUUID{&c.KeyID},
		&c.Response, &c.Items, &c.Bytes,
		raw{&c.Metadata},
		(*timeCol)(&c.CreatedAt), &c.Executions,
		text[string]{&c.Mark},
	}
}

// loadConversation returns the conversation; nil if there is none.
func loadConversation(v view, query string, args ...any) (*store.Conversation, error) {
	var c store.Conversation
	found, err := v.one(query, args, conversationScan(&c)...)
	if err != nil || !found {
		return nil, err
	}
	return &c, nil
}

func (t *Transaction) applyConversation(org string, ch *store.ConversationChange) error {
	if ch == nil {
		return nil
	}
	c := &ch.Row
	if c.Org != org {
		return errors.New("a command wrote a conversation of another org")
	}
	if ch.Delete {
		return t.write(dropConversation, c.ID)
	}
	err := t.write(upsertConversation, c.ID, c.Org, optID(c.KeyID), c.Response, int64(c.Items), c.Bytes, rawText(c.Metadata), millis(c.CreatedAt), int64(c.Executions), optText(c.Mark))
	if err != nil {
		return err
	}
	if ch.Take {
		if err := t.write(takeConversationItems, c.ID); err != nil {
			return err
		}
	}
	first := c.Items - len(ch.Add)
	for i, item := range ch.Add {
		if err := t.write(putConversationItem, c.ID, int64(first+i), rawText(item)); err != nil {
			return err
		}
	}
	if ch.Execution == nil {
		return nil
	}
	return t.write(putConversationExecution, c.ID, int64(c.Executions), ch.Execution[:])
}

// Conversation implements [store.Reader].
func (r *Reader) Conversation(ctx context.Context, org, id string) (*store.Conversation, error) {
	return r.conversation(ctx, conversationByID, id, org)
}

// ConversationByResponse implements [store.Reader].
func (r *Reader) ConversationByResponse(ctx context.Context, org, response string) (*store.Conversation, error) {
	return r.conversation(ctx, conversationByResponse, response, org)
}

func (r *Reader) conversation(ctx context.Context, query, id, org string) (*store.Conversation, error) {
	var c *store.Conversation
	err := r.read(ctx, func(v view) (err error) {
		if c, err = loadConversation(v, query, id, org); err == nil && c == nil {
			err = perdure.Errorf(perdure.NotFound, "there is no conversation %q", id)
		}
		return err
	})
	return c, err
}

// ConversationItems implements [store.Reader].
func (r *Reader) ConversationItems(ctx context.Context, id string, from, limit int) (items []json.RawMessage, err error) {
	err = r.read(ctx, func(v view) error {
		items = nil // the function may run again
		return v.each(conversationItems, []any{id, from, limit}, func(row func(...any) error) error {
			var item json.RawMessage
			err := row(raw{&item})
			items = append(items, item)
			return err
		})
	})
	return items, err
}

// ConversationExecutions implements [store.Reader].
func (r *Reader) ConversationExecutions(ctx context.Context, id string) (all []uuid.UUID, err error) {
	err = r.read(ctx, func(v view) error {
		all = nil // the function may run again
		return v.each(conversationExecutions, []any{id}, func(row func(...any) error) error {
			var execution uuid.UUID
			err := row(&execution)
			all = append(all, execution)
			return err
		})
	})
	return all, err
}
