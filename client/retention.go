package client

import (
	"context"
	"io"
	"net/http"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// PutContent uploads content, of exactly that length, which a signal to the
// execution names then. What nothing names within an hour is deleted. Errors:
// not_found, execution_ended, payload_too_large.
func (c *Client) PutContent(ctx context.Context, id uuid.UUID, length int64, content io.Reader) (perdure.BlobRef, error) {
	var out struct {
		BlobID uuid.UUID    `json:"blobId"`
		Length int64        `json:"length"`
		SHA256 perdure.Hash `json:"sha256"`
	}
	err := c.call(ctx, request{
		method: http.MethodPut, path: []string{executions, id.String(), "content"}, raw: content, length: length,
	}, &out)
	return perdure.BlobRef{ID: out.BlobID, Length: out.Length, SHA256: out.SHA256}, err
}

// Retention is how long an org keeps things.
type Retention struct {
	Executions  perdure.Period `json:"executions"`
	Checkpoints perdure.Period `json:"checkpoints"`
	Logs        perdure.Period `json:"logs"`
	// Set reports whether anybody has said so; otherwise it is the default.
	Set bool `json:"set"`
}

// Retention returns how long the org keeps things.
func (c *Client) Retention(ctx context.Context) (*Retention, error) {
	return get[Retention](ctx, c, nil, "retention")
}

// SetRetention says how long the org keeps things; what is nil is the default.
// It takes a key of the role admin.
func (c *Client) SetRetention(ctx context.Context, r perdure.Retention) (*Retention, error) {
	var set Retention
	if err := c.call(ctx, request{method: http.MethodPut, path: []string{"retention"}, body: r}, &set); err != nil {
		return nil, err
	}
	return &set, nil
}

// PruneRequest asks to delete what is kept no longer.
type PruneRequest struct {
	// OlderThan is an age like "30d", for executions; "" goes by the policies,
	// over checkpoints and logs, too.
	OlderThan    string           `json:"olderThan,omitempty"`
	Status       []perdure.Status `json:"status,omitempty"`
	DefinitionID *uuid.UUID       `json:"agentDefinitionId,omitempty"`
	// DryRun says what would go, and changes nothing.
	DryRun bool `json:"dryRun,omitempty"`
}

// PruneReport says what a prune deleted, or would.
type PruneReport struct {
	DryRun      bool       `json:"dryRun"`
	Executions  PruneCount `json:"executions"`
	Checkpoints PruneCount `json:"checkpoints"`
	Logs        PruneCount `json:"logs"`
	// More says that there is more to prune: ask again.
	More bool `json:"more"`
}

// PruneCount counts what goes of one kind.
type PruneCount struct {
	Count    int64                    `json:"count"`
	Bytes    int64                    `json:"bytes"`
	Oldest   *perdure.Time            `json:"oldest,omitempty"`
	ByStatus map[perdure.Status]int64 `json:"byStatus,omitempty"`
	ByKind   map[string]int64         `json:"byKind,omitempty"`
}

// Prune deletes a bounded part of what is kept no longer; the report says
// whether there is more. It takes a key of the role admin. Error:
// invalid_argument, also if neither a policy nor OlderThan says what to delete.
func (c *Client) Prune(ctx context.Context, r PruneRequest) (*PruneReport, error) {
	var report PruneReport
	if err := c.call(ctx, request{method: http.MethodPost, path: []string{executions, "prune"}, body: r}, &report); err != nil {
		return nil, err
	}
	return &report, nil
}
