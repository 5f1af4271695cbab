package tenant

import (
	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store/sql/row"
)

// SessionRows declares the rows of the table of the web pages' sessions.
var SessionRows = row.New("web_session", 1, []row.Field[perdure.Session]{
	row.ID("id", func(x *perdure.Session) *uuid.UUID { return &x.ID }),
	row.Text("org_id", func(x *perdure.Session) *string { return &x.Org }),
	row.OptID("key_id", func(x *perdure.Session) **uuid.UUID { return &x.KeyID }),
	row.Text("key_name", func(x *perdure.Session) *string { return &x.KeyName }),
	row.Hash("key_hash", func(x *perdure.Session) *perdure.Hash { return &x.Key }),
	row.Hash("cookie_hash", func(x *perdure.Session) *perdure.Hash { return &x.Cookie }),
	row.Hash("page_hash", func(x *perdure.Session) *perdure.Hash { return &x.Page }),
	row.Time("created_at", func(x *perdure.Session) *perdure.Time { return &x.CreatedAt }),
	row.Time("expires_at", func(x *perdure.Session) *perdure.Time { return &x.ExpiresAt }),
	row.Text("remote", func(x *perdure.Session) *string { return &x.RemoteAddress }),
	row.Text("user_agent", func(x *perdure.Session) *string { return &x.UserAgent }),
})

// SessionSelect is the beginning of a query for web sessions, up to its condition.
var SessionSelect = "SELECT " + SessionRows.List("s") + " FROM web_session s WHERE "
