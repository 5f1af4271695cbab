package apply

import (
	"errors"

	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/column"
	"github.com/perdure/perdure/internal/store/sql/load"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

var upsertConversation = statement.Declare(load.ConversationRows.UpsertStatement())

var (
	dropConversation = statement.Remove("conversation", statement.Columns("id"))

	putConversationItem   = statement.Insert("conversation_item", "conversation_id, number, item")
	takeConversationItems = statement.Remove("conversation_item", statement.Columns("conversation_id"))

	putConversationExecution = statement.Insert("conversation_execution", "conversation_id, number, agent_execution_id")
)

func (t *Transaction) applyConversation(org string, ch *store.ConversationChange) error {
	if ch == nil {
		return nil
	}
	c := &ch.Row
	if c.Org != org {
		return errors.New("a command wrote a conversation of another org")
	}
	if ch.Delete {
		return t.Write(dropConversation, c.ID)
	}
	err := load.ConversationRows.Write(t.View, upsertConversation, c)
	if err != nil {
		return err
	}
	if ch.Take {
		if err := t.Write(takeConversationItems, c.ID); err != nil {
			return err
		}
	}
	first := c.Items - len(ch.Add)
	for i, item := range ch.Add {
		if err := t.Write(putConversationItem, c.ID, int64(first+i), column.RawText(item)); err != nil {
			return err
		}
	}
	if ch.Execution == nil {
		return nil
	}
	return t.Write(putConversationExecution, c.ID, int64(c.Executions), ch.Execution[:])
}
