package client

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// TestDefinitionsAreSentWhole checks that the request that stores a definition has every member of
// the definition, except for those that the server sets.
func TestDefinitionsAreSentWhole(t *testing.T) {
	days := perdure.Period(3 * 24 * time.Hour)
	whole := perdure.Definition{
		ID: anID, Org: "o", Name: "n", Slug: "s", Description: "d", SystemPrompt: "p",
		Models: []perdure.ModelConfig{{Provider: "p", ModelID: "m"}}, Tools: []string{}, Config: perdure.AgentConfig{Net: "none"},
		Approvals: perdure.ApprovalPolicy{{Tools: []string{"bash"}, Then: perdure.ApprovalAsk}},
		Retention: &perdure.Retention{Checkpoints: &days}, Metadata: json.RawMessage(`{"a":1}`),
		CreatedAt: perdure.Time{Time: time.Unix(5, 0)}, UpdatedAt: perdure.Time{Time: time.Unix(5, 0)}, Version: 4,
	}
	for i, v := 0, reflect.ValueOf(whole); i < v.NumField(); i++ {
		if v.Field(i).IsZero() {
			t.Fatalf("the test sets no %s", v.Type().Field(i).Name)
		}
	}
	for name, send := range map[string]func(*Client) error{
		"create": func(c *Client) error { _, err := c.CreateDefinition(t.Context(), whole); return err },
		"put":    func(c *Client) error { _, err := c.PutDefinition(t.Context(), whole); return err },
	} {
		c, asked := answer(t, 200, "{}")
		if err := send(c); err != nil {
			t.Fatal(err)
		}
		var sent perdure.Definition
		if err := json.Unmarshal([]byte(asked.Body), &sent); err != nil {
			t.Fatal(err)
		}
		want := whole
		want.ID, want.Org, want.CreatedAt, want.UpdatedAt, want.Version = sent.ID, "", perdure.Time{}, perdure.Time{}, 0
		want.ID, want.Org, want.CreatedAt, want.UpdatedAt, want.Version = uuid.Nil, "", perdure.Time{}, perdure.Time{}, 0
		if !reflect.DeepEqual(sent, want) {
			t.Errorf("%s sent %s", name, asked.Body)
		}
	}
}
