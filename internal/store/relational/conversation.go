package relational

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// conversations declares the rows of the table of conversations.
var conversations = newRows("conversation", 1, []field[store.Conversation]{
	textField("id", func(x *store.Conversation) *string { return &x.ID }),
	textField("org_id", func(x *store.Conversation) *string { return &x.Org }),
	optIDField("key_id", func(x *store.Conversation) **uuid.UUID { return &x.KeyID }),
	textField("response_id", func(x *store.Conversation) *string { return &x.Response }),
	numberField("items", func(x *store.Conversation) *int { return &x.Items }),
	numberField("bytes", func(x *store.Conversation) *int64 { return &x.Bytes }),
	rawTextField("metadata", func(x *store.Conversation) *json.RawMessage { return &x.Metadata }),
	timeField("created_at", func(x *store.Conversation) *perdure.Time { return &x.CreatedAt }),
	numberField("executions", func(x *store.Conversation) *int { return &x.Executions }),
	optTextField("mark", func(x *store.Conversation) *string { return &x.Mark }),
})

var (
	upsertConversation     = declare(conversations.upsertStatement())
	conversationSelect     = "SELECT " + conversations.list("c") + " FROM conversation c WHERE "
	conversationByID       = read(conversationSelect + "c.id = ?1 AND (?2 = '' OR c.org_id = ?2)")
	conversationByResponse = read(conversationSelect + "c.response_id = ?1 AND c.org_id = ?2")
)

var (
	dropConversation = remove("conversation", columns("id"))

	putConversationItem   = insert("conversation_item", "conversation_id, number, item")
	takeConversationItems = remove("conversation_item", columns("conversation_id"))
	conversationItems     = read("SELECT item FROM conversation_item WHERE conversation_id = ? AND number >= ? ORDER BY number LIMIT ?")

	putConversationExecution = insert("conversation_execution", "conversation_id, number, agent_execution_id")
	conversationExecutions   = read("SELECT e.agent_execution_id FROM conversation_execution e JOIN agent_execution x ON x.id = e.agent_execution_id" +
		" WHERE e.conversation_id = ? AND " + hidden + " ORDER BY e.number")
)

// loadConversation returns the conversation; nil if there is none.
func loadConversation(v view, query *Statement, args ...any) (*store.Conversation, error) {
	var c store.Conversation
	found, err := v.one(query, args, conversations.scan(nil, &c)...)
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
	err := conversations.write(t.view, upsertConversation, c)
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

func (r *Reader) conversation(ctx context.Context, query *Statement, id, org string) (*store.Conversation, error) {
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
			err := row(rawInto(&item))
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
