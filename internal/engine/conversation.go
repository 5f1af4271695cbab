package engine

import (
	"context"
	"encoding/json"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/rules"
	"github.com/perdure/perdure/internal/store"
)

// MaxPendingItems bounds the items that a client may add to a conversation before its next response.
const MaxPendingItems = rules.MaxPendingItems

// ConversationPlace is the state of a conversation when it was read.
type ConversationPlace = rules.ConversationPlace

// ConversationTurn lets a start or a signal begin the next response of a conversation.
type ConversationTurn = rules.ConversationTurn

// responseOf returns the id of the response to begin. If t is nil, the id is new.
func responseOf(t *ConversationTurn) string {
	if t == nil {
		return NewResponseID()
	}
	return t.Response
}

// KeyedExecution returns the execution that an idempotency key belongs to, nil if there is none.
// Error: idempotency_key_reused.
func (e *Engine) KeyedExecution(ctx context.Context, org, key string, hash perdure.Hash) (*uuid.UUID, error) {
	d, err := e.one(ctx, store.Command{
		Name: "look up idempotency key", Lane: store.LaneCommits, Org: org,
		Needs:  func(*perdure.Execution) store.Needs { return store.Needs{Idempotency: key} },
		Decide: func(s *store.State) (*store.Changes, error) { return rules.KeyedExecution(s, key, hash) },
	})
	if err != nil {
		return nil, err
	}
	return d.Value.(*uuid.UUID), nil
}

// NewConversation is a request to create a conversation.
type NewConversation struct {
	ID, Response string
	Metadata     json.RawMessage
	Items        []json.RawMessage
}

// CreateConversation stores a new conversation. Errors: rate_limited, payload_too_large,
// invalid_argument (too many items).
func (e *Engine) CreateConversation(ctx context.Context, org string, c NewConversation) (*store.Conversation, error) {
	row := store.Conversation{
		ID: c.ID, Org: org, KeyID: store.KeyOf(ctx), Response: c.Response, Metadata: c.Metadata,
		Items: len(c.Items), Bytes: int64(len(c.Metadata)) + bytesOf(c.Items),
	}
	if err := e.rules().CheckPending(&row); err != nil {
		return nil, err
	}
	return e.conversation(ctx, store.Command{
		Name: "create conversation", Lane: store.LaneCommits, Org: org, Bytes: int(row.Bytes),
		Needs:  func(*perdure.Execution) store.Needs { return store.Needs{Conversation: row.ID, UseOf: row.KeyID} },
		Decide: func(s *store.State) (*store.Changes, error) { return rules.CreateConversation(s, row, c.Items) },
	})
}

// SetConversationMetadata replaces the metadata of a conversation. Errors: not_found, rate_limited.
func (e *Engine) SetConversationMetadata(ctx context.Context, org, id string, metadata json.RawMessage) (*store.Conversation, error) {
	c, err := e.Store.Conversation(ctx, org, id)
	if err != nil {
		return nil, err
	}
	return e.conversation(ctx, store.Command{
		Name: "set conversation metadata", Lane: store.LaneCommits, Org: org,
		Needs:  func(*perdure.Execution) store.Needs { return store.Needs{Conversation: id, UseOf: c.KeyID} },
		Decide: func(s *store.State) (*store.Changes, error) { return rules.SetConversationMetadata(s, id, metadata) },
	})
}

// AddToConversation appends pending items. Errors: not_found, conflict (the conversation has
// changed since it was read), rate_limited, payload_too_large, invalid_argument (too many items).
func (e *Engine) AddToConversation(ctx context.Context, org string, at ConversationPlace, items []json.RawMessage) error {
	c, err := e.Store.Conversation(ctx, org, at.ID)
	if err != nil {
		return err
	}
	mark, more := uuid.NewString(), bytesOf(items)
	_, err = e.conversation(ctx, store.Command{
		Name: "add to conversation", Lane: store.LaneCommits, Org: org, Bytes: int(more),
		Needs: func(*perdure.Execution) store.Needs { return store.Needs{Conversation: at.ID, UseOf: c.KeyID} },
		Decide: func(s *store.State) (*store.Changes, error) {
			return rules.AddToConversation(s, e.rules(), at, items, more, mark)
		},
	})
	return err
}

// DeleteConversation deletes a conversation with its pending items. Its executions are not deleted.
// Error: not_found.
func (e *Engine) DeleteConversation(ctx context.Context, org, id string) error {
	_, err := e.conversation(ctx, store.Command{
		Name: "delete conversation", Lane: store.LaneCommits, Org: org, Frees: true,
		Needs:  func(*perdure.Execution) store.Needs { return store.Needs{Conversation: id} },
		Decide: func(s *store.State) (*store.Changes, error) { return rules.DeleteConversation(s, id) },
	})
	return err
}

func (e *Engine) conversation(ctx context.Context, c store.Command) (*store.Conversation, error) {
	d, err := e.one(ctx, c)
	if err != nil {
		return nil, err
	}
	return d.Value.(*store.Conversation), nil
}

func bytesOf(items []json.RawMessage) (n int64) {
	for _, item := range items {
		n += int64(len(item))
	}
	return n
}
