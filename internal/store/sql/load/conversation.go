package load

import (
	"encoding/json"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/row"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

// ConversationRows declares the rows of the table of conversations.
var ConversationRows = row.New("conversation", 1, []row.Field[store.Conversation]{
	row.Text("id", func(x *store.Conversation) *string { return &x.ID }),
	row.Text("org_id", func(x *store.Conversation) *string { return &x.Org }),
	row.OptID("key_id", func(x *store.Conversation) **uuid.UUID { return &x.KeyID }),
	row.Text("response_id", func(x *store.Conversation) *string { return &x.Response }),
	row.Number("items", func(x *store.Conversation) *int { return &x.Items }),
	row.Number("bytes", func(x *store.Conversation) *int64 { return &x.Bytes }),
	row.RawText("metadata", func(x *store.Conversation) *json.RawMessage { return &x.Metadata }),
	row.Time("created_at", func(x *store.Conversation) *perdure.Time { return &x.CreatedAt }),
	row.Number("executions", func(x *store.Conversation) *int { return &x.Executions }),
	row.OptText("mark", func(x *store.Conversation) *string { return &x.Mark }),
})

var (
	// ConversationSelect is the beginning of a query for conversations, up to its condition.
	ConversationSelect = "SELECT " + ConversationRows.List("c") + " FROM conversation c WHERE "
	// ConversationByID selects a conversation of the org ?2, or of any org if ?2 is "".
	ConversationByID = statement.Read(ConversationSelect + "c.id = ?1 AND (?2 = '' OR c.org_id = ?2)")
)
