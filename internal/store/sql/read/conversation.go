package read

import (
	"context"
	"encoding/json"

	"github.com/google/uuid"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/column"
	"github.com/perdure/perdure/internal/store/sql/load"
	"github.com/perdure/perdure/internal/store/sql/read/base"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

var conversationByResponse = statement.Read(load.ConversationSelect + "c.response_id = ?1 AND c.org_id = ?2")

var (
	conversationItems      = statement.Read("SELECT item FROM conversation_item WHERE conversation_id = ? AND number >= ? ORDER BY number LIMIT ?")
	conversationExecutions = statement.Read("SELECT e.agent_execution_id FROM conversation_execution e JOIN agent_execution x ON x.id = e.agent_execution_id" +
		" WHERE e.conversation_id = ? AND " + load.Hidden + " ORDER BY e.number")
)

// Conversation implements [store.Reader].
func (r *Reader) Conversation(ctx context.Context, org, id string) (*store.Conversation, error) {
	return r.conversation(ctx, load.ConversationByID, id, org)
}

// ConversationByResponse implements [store.Reader].
func (r *Reader) ConversationByResponse(ctx context.Context, org, response string) (*store.Conversation, error) {
	return r.conversation(ctx, conversationByResponse, response, org)
}

func (r *Reader) conversation(ctx context.Context, query *statement.Statement, id, org string) (*store.Conversation, error) {
	return base.Find(ctx, r.Source, func(v statement.View) (*store.Conversation, error) {
		return load.ConversationRows.One(v, query, id, org)
	}, "there is no conversation %q", id)
}

// ConversationItems implements [store.Reader].
func (r *Reader) ConversationItems(ctx context.Context, id string, from, limit int) (items []json.RawMessage, err error) {
	err = r.Read(ctx, func(v statement.View) error {
		items = nil // the function may run again
		return v.Each(conversationItems, []any{id, from, limit}, func(row func(...any) error) error {
			var item json.RawMessage
			err := row(column.RawInto(&item))
			items = append(items, item)
			return err
		})
	})
	return items, err
}

// ConversationExecutions implements [store.Reader].
func (r *Reader) ConversationExecutions(ctx context.Context, id string) ([]uuid.UUID, error) {
	return r.IDs(ctx, conversationExecutions, id)
}
