package client

import (
	"context"
	"io"
	"net/http"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// PutContent uploads content of exactly `length` bytes. A signal to the execution can then refer to
// the content. If no signal refers to the content within an hour, the server deletes the content.
// Errors: not_found, execution_ended, payload_too_large.
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

// Retention are the retention periods of an org.
type Retention struct {
	Executions  perdure.Period `json:"executions"`
	Checkpoints perdure.Period `json:"checkpoints"`
	Logs        perdure.Period `json:"logs"`
	// Set reports whether the org has set its own periods. Otherwise the periods are the defaults.
	Set bool `json:"set"`
}

// Retention returns the org's retention periods.
func (c *Client) Retention(ctx context.Context) (*Retention, error) {
	return get[Retention](ctx, c, nil, "retention")
}

// SetRetention sets the org's retention periods. A nil field selects the default. It requires the role
// admin.
func (c *Client) SetRetention(ctx context.Context, r perdure.Retention) (*Retention, error) {
	var set Retention
	if err := c.call(ctx, request{method: http.MethodPut, path: []string{"retention"}, body: r}, &set); err != nil {
		return nil, err
	}
	return &set, nil
}

// PruneRequest requests the deletion of data whose retention period is over.
type PruneRequest struct {
	// OlderThan is an age such as "30d". If it is set, Prune deletes executions that ended longer
	// ago than that, regardless of the retention period, and nothing else. If it is "", the org's
	// retention periods apply. Prune then also deletes checkpoints and logs, unless Status or
	// DefinitionID is set.
	OlderThan    string           `json:"olderThan,omitempty"`
	Status       []perdure.Status `json:"status,omitempty"`
	DefinitionID *uuid.UUID       `json:"agentDefinitionId,omitempty"`
	// DryRun makes Prune delete nothing and report what it would delete.
	DryRun bool `json:"dryRun,omitempty"`
}

// PruneReport counts the data that a call of Prune has deleted or, with DryRun, would delete.
type PruneReport struct {
	DryRun      bool       `json:"dryRun"`
	Executions  PruneCount `json:"executions"`
	Checkpoints PruneCount `json:"checkpoints"`
	Logs        PruneCount `json:"logs"`
	// More reports that another call would delete more data.
	More bool `json:"more"`
}

// PruneCount counts the executions, checkpoints or logs that are deleted, or would be with DryRun.
type PruneCount struct {
	Count    int64                    `json:"count"`
	Bytes    int64                    `json:"bytes"`
	Oldest   *perdure.Time            `json:"oldest,omitempty"`
	ByStatus map[perdure.Status]int64 `json:"byStatus,omitempty"`
	ByKind   map[string]int64         `json:"byKind,omitempty"`
}

// Prune deletes data whose retention period is over, up to a limit per call. The report says
// whether there is more. Prune requires the role admin. Errors: invalid_argument, also if neither a
// retention period nor OlderThan is set.
func (c *Client) Prune(ctx context.Context, r PruneRequest) (*PruneReport, error) {
	var report PruneReport
	if err := c.call(ctx, request{method: http.MethodPost, path: []string{executions, "prune"}, body: r}, &report); err != nil {
		return nil, err
	}
	return &report, nil
}
