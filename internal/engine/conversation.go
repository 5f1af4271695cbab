package engine

import (
	"context"
	"encoding/json"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// MaxPendingItems and maxPendingBytes bound the items that a client may add to a conversation
// before its next response.
const (
	MaxPendingItems = 1_000
	maxPendingBytes = 8 << 20
)

// ConversationPlace is the state of a conversation when it was read. A decision on it is a conflict
// if another response has begun since, or items were added.
type ConversationPlace struct {
	ID string
	// Response is the id of the conversation's next response; Items is the number of pending items.
	Response string
	Items    int
}

// ConversationTurn lets a start or a signal begin the next response of a conversation. It removes
// the pending items, so the input must contain them.
type ConversationTurn struct {
	ConversationPlace
}

// response returns the id of the response to begin, a new one if t is nil.
func (t *ConversationTurn) response() string {
	if t == nil {
		return NewResponseID()
	}
	return t.Response
}

func (t *ConversationTurn) needs(n *store.Needs) {
	if t != nil {
		n.Conversation = t.ID
	}
}

// begin records that the response has begun in the conversation. With an execution, it also records
// that execution as a new one of the conversation.
func (t *ConversationTurn) begin(d *draft, execution *uuid.UUID) error {
	if t == nil {
		return nil
	}
	row, err := t.standing(d.s)
	if err != nil {
		return err
	}
	row.Response, row.Items, row.Bytes = NewResponseID(), 0, int64(len(row.Metadata))
	if execution != nil {
		row.Executions++
	}
	d.c.Conversation = &store.ConversationChange{Row: *row, Take: true, Execution: execution}
	return nil
}

// standing returns the conversation if it is unchanged since it was read. Errors: not_found,
// conflict.
func (p ConversationPlace) standing(s *store.State) (*store.Conversation, error) {
	row := s.Conversation
	if row == nil {
		return nil, noConversation(p.ID)
	}
	if row.Response != p.Response || row.Items != p.Items {
		return nil, perdure.Errorf(perdure.Conflict, "conversation %s has changed meanwhile", p.ID)
	}
	return row, nil
}

func noConversation(id string) error {
	return perdure.Errorf(perdure.NotFound, "there is no conversation %q", id)
}

// KeyedExecution returns the execution that an idempotency key names, nil if there is none. Error:
// idempotency_key_reused.
func (e *Engine) KeyedExecution(ctx context.Context, org, key string, hash perdure.Hash) (*uuid.UUID, error) {
	d, err := e.one(ctx, store.Command{
		Name: "look up idempotency key", Lane: store.LaneCommits, Org: org,
		Needs: func(*perdure.Execution) store.Needs { return store.Needs{Idempotency: key} },
		Decide: func(s *store.State) (*store.Changes, error) {
			known := s.Idempotency
			switch {
			case known == nil:
				return answerOf((*uuid.UUID)(nil)), nil
			case known.RequestHash != hash:
				return nil, keyReused(key)
			}
			return answerOf(&known.Execution), nil
		},
	})
	if err != nil {
		return nil, err
	}
	return d.value.(*uuid.UUID), nil
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
	if err := e.boundPending(&row); err != nil {
		return nil, err
	}
	return e.conversation(ctx, store.Command{
		Name: "create conversation", Lane: store.LaneCommits, Org: org, Bytes: int(row.Bytes),
		Needs: func(*perdure.Execution) store.Needs { return store.Needs{Conversation: row.ID, UseOf: row.KeyID} },
		Decide: func(s *store.State) (*store.Changes, error) {
			if s.Conversation != nil {
				return conversationAnswer(s.Conversation), nil // the store repeats a decision whose outcome is unknown
			}
			if err := roomToStore(s, row.Bytes); err != nil {
				return nil, err
			}
			made := row
			made.CreatedAt = s.Now
			ch := conversationAnswer(&made)
			ch.Conversation = &store.ConversationChange{Row: made, Add: c.Items}
			return ch, nil
		},
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
		Needs: func(*perdure.Execution) store.Needs { return store.Needs{Conversation: id, UseOf: c.KeyID} },
		Decide: func(s *store.State) (*store.Changes, error) {
			if s.Conversation == nil {
				return nil, noConversation(id)
			}
			row := *s.Conversation
			more := int64(len(metadata) - len(row.Metadata))
			if err := roomToStore(s, max(0, more)); err != nil {
				return nil, err
			}
			row.Metadata, row.Bytes = metadata, row.Bytes+more
			ch := conversationAnswer(&row)
			ch.Conversation = &store.ConversationChange{Row: row}
			return ch, nil
		},
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
			if s.Conversation != nil && s.Conversation.Mark == mark {
				return conversationAnswer(s.Conversation), nil
			}
			standing, err := at.standing(s)
			if err != nil {
				return nil, err
			}
			row := *standing
			row.Items, row.Bytes, row.Mark = row.Items+len(items), row.Bytes+more, mark
			if err := e.boundPending(&row); err != nil {
				return nil, err
			}
			if err := roomToStore(s, more); err != nil {
				return nil, err
			}
			ch := conversationAnswer(&row)
			ch.Conversation = &store.ConversationChange{Row: row, Add: items}
			return ch, nil
		},
	})
	return err
}

// DeleteConversation deletes a conversation with its pending items. Its executions are not deleted.
// Error: not_found.
func (e *Engine) DeleteConversation(ctx context.Context, org, id string) error {
	_, err := e.conversation(ctx, store.Command{
		Name: "delete conversation", Lane: store.LaneCommits, Org: org, Frees: true,
		Needs: func(*perdure.Execution) store.Needs { return store.Needs{Conversation: id} },
		Decide: func(s *store.State) (*store.Changes, error) {
			if s.Conversation == nil {
				return nil, noConversation(id)
			}
			ch := conversationAnswer(s.Conversation)
			ch.Conversation = &store.ConversationChange{Row: *s.Conversation, Delete: true}
			return ch, nil
		},
	})
	return err
}

func (e *Engine) conversation(ctx context.Context, c store.Command) (*store.Conversation, error) {
	d, err := e.one(ctx, c)
	if err != nil {
		return nil, err
	}
	return d.value.(*store.Conversation), nil
}

func conversationAnswer(row *store.Conversation) *store.Changes { return answerOf(row) }

// boundPending refuses more pending items than the input of a response may hold. Errors:
// invalid_argument, payload_too_large.
func (e *Engine) boundPending(c *store.Conversation) error {
	if c.Items > MaxPendingItems {
		return perdure.FieldErrorf("items", "are %d with those that no response has taken; the limit is %d", c.Items, MaxPendingItems)
	}
	most := min(maxPendingBytes, e.PayloadLimit/2)
	if held := c.Bytes - int64(len(c.Metadata)); held > most {
		return perdure.Errorf(perdure.PayloadTooLarge, "the items that no response has taken have %d bytes; the limit is %d", held, most)
	}
	return nil
}

func bytesOf(items []json.RawMessage) (n int64) {
	for _, item := range items {
		n += int64(len(item))
	}
	return n
}
