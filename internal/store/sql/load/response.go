package load

import (
	"encoding/json"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/row"
)

// ResponseRows declares the rows of the table of responses.
var ResponseRows = row.New("agent_response", 2, []row.Field[store.Response]{
	row.ID("agent_execution_id", func(x *store.Response) *uuid.UUID { return &x.Execution }),
	row.Text("id", func(x *store.Response) *string { return &x.ID }),
	row.OptText("signal_id", func(x *store.Response) *string { return &x.SignalID }),
	row.Number("first_pos", func(x *store.Response) *int64 { return &x.FirstPos }),
	row.OptText("joined", func(x *store.Response) *string { return &x.Joined }),
	row.Flag("hidden", func(x *store.Response) *bool { return &x.Hidden }),
	row.Time("created_at", func(x *store.Response) *perdure.Time { return &x.CreatedAt }),
	row.RawText("request", func(x *store.Response) *json.RawMessage { return &x.Request }),
	row.OptHash("said", func(x *store.Response) *perdure.Hash { return &x.History.Said }),
	row.OptHash("said_and_run", func(x *store.Response) *perdure.Hash { return &x.History.SaidAndRun }),
})
