package tool

import (
	"context"
	"encoding/json"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure"
)

type place struct {
	City string `json:"city" jsonschema_description:"Where, in English."`
}

type forecastArgs struct {
	Place place    `json:"place"`
	Days  int      `json:"days" jsonschema:"minimum=1,maximum=14"`
	Units string   `json:"units,omitempty" jsonschema:"enum=metric,enum=imperial"`
	Tags  []string `json:"tags,omitempty"`
}

func forecast() Tool {
	return New("forecast", "Weather to come.", func(_ context.Context, _ *Call, in forecastArgs) (Result, error) {
		return Text(in.Place.City), nil
	})
}

func TestNewDescribesItsArguments(t *testing.T) {
	var schema map[string]any
	if err := json.Unmarshal(forecast().Schema, &schema); err != nil {
		t.Fatal(err)
	}
	if schema["type"] != "object" || schema["$ref"] != nil || schema["additionalProperties"] != false {
		t.Errorf("not a closed object at the top: %v", schema)
	}
	if diff := cmp.Diff([]any{"place", "days"}, schema["required"]); diff != "" {
		t.Errorf("required (-want +got):\n%s", diff)
	}
	if schema["$schema"] != "https://json-schema.org/draft/2020-12/schema" {
		t.Errorf("$schema = %v", schema["$schema"])
	}
}

func TestCheckNamesTheFieldAtFault(t *testing.T) {
	tests := []struct{ name, raw, want string }{
		{"missing", `{"days": 3}`, "place: is required"},
		{"nested missing", `{"place": {}, "days": 3}`, "place.city: is required"},
		{"wrong type", `{"place": {"city": "Rome"}, "days": "3"}`, "days: must be integer, got string"},
		{"unknown", `{"place": {"city": "Rome"}, "days": 3, "dys": 1}`, "dys: is not a field of this tool; its fields are days, place, tags, units"},
		{"too small", `{"place": {"city": "Rome"}, "days": 0}`, "days: minimum: got 0, want 1"},
		{"not in enum", `{"place": {"city": "Rome"}, "days": 3, "units": "si"}`, "units: value must be one of 'metric', 'imperial'"},
		{"in an array", `{"place": {"city": "Rome"}, "days": 3, "tags": ["a", 1]}`, "tags.1: must be string, got number"},
		{"array", `[1]`, "must be a JSON object, got array"},
		{"null", `null`, "must be a JSON object, got null"},
		{"cut off", `{"place": {"ci`, "not valid JSON"},
		{"two values", `{} {}`, "not valid JSON"},
		{"nothing", ``, "place: is required"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			bad := forecast().Check(json.RawMessage(tt.raw))
			if bad == nil {
				t.Fatal("accepted")
			}
			wantError(t, *bad, tt.want)
			r, err := forecast().Run(t.Context(), &Call{Arguments: json.RawMessage(tt.raw)})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(*bad, r); diff != "" {
				t.Errorf("Run answers otherwise than Check:\n%s", diff)
			}
		})
	}
}

func TestValidArgumentsReachTheFunction(t *testing.T) {
	raw := json.RawMessage(`{"place": {"city": "Rome"}, "days": 14}`)
	if bad := forecast().Check(raw); bad != nil {
		t.Fatalf("refused: %s", bad.PlainText())
	}
	r, err := forecast().Run(t.Context(), &Call{Arguments: raw})
	if err != nil {
		t.Fatal(err)
	}
	if r.IsError || r.PlainText() != "Rome" {
		t.Errorf("got %+v", r)
	}
}

func TestNoArgumentsAreAnEmptyObject(t *testing.T) {
	tool := New("ping", "", func(context.Context, *Call, struct{}) (Result, error) { return Text("pong"), nil })
	for _, raw := range []string{"", " \n", "{}"} {
		r, err := tool.Run(t.Context(), &Call{Arguments: json.RawMessage(raw)})
		if err != nil || r.PlainText() != "pong" {
			t.Errorf("arguments %q: %+v, %v", raw, r, err)
		}
	}
}

func TestNumberThatGoCannotHoldIsAReadableError(t *testing.T) {
	r, err := forecast().Run(t.Context(), &Call{Arguments: json.RawMessage(`{"place": {"city": "Rome"}, "days": 1e0}`)})
	if err != nil {
		t.Fatal(err)
	}
	wantError(t, r, "days")
}

func TestCheckOfAToolMadeByHand(t *testing.T) {
	byHand := Tool{Name: "x", Schema: json.RawMessage(`{"type": "object", "required": ["q"]}`)}
	if bad := byHand.Check(json.RawMessage(`{"q": 1}`)); bad != nil {
		t.Errorf("refused: %s", bad.PlainText())
	}
	if bad := byHand.Check(json.RawMessage(`{}`)); bad == nil {
		t.Error("accepted without q")
	}
	byHand.Schema = json.RawMessage(`{"type": "object", "$ref": "file:///etc/passwd"}`)
	if bad := byHand.Check(json.RawMessage(`{}`)); bad == nil {
		t.Error("a schema may refer to files")
	}
}

func TestNewRefusesWhatIsNoObject(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("New accepted a string as arguments")
		}
	}()
	New("x", "", func(context.Context, *Call, string) (Result, error) { return Result{}, nil })
}

func TestBuiltins(t *testing.T) {
	type facts struct {
		Name    string
		OnLost  perdure.OnLost
		Barrier bool
	}
	var got []facts
	for _, tool := range Builtin() {
		got = append(got, facts{tool.Name, tool.OnLost, tool.Barrier})
		if tool.Timeout <= 0 || tool.Description == "" {
			t.Errorf("%s has no timeout or description", tool.Name)
		}
	}
	want := []facts{
		{"read-file", perdure.OnLostRetry, false},
		{"write-file", perdure.OnLostReport, true},
		{"edit-file", perdure.OnLostReport, true},
		{"bash", perdure.OnLostReport, false},
		{"grep", perdure.OnLostRetry, false},
		{"find", perdure.OnLostRetry, false},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if bashTimeout != 2*time.Minute {
		t.Errorf("a command has %s unless it asks for more", bashTimeout)
	}
}

// TestReadyPoliciesKnowEachTool checks the predefined approval policies. They allow without a
// question the built-in tools that change nothing. The policy `ask` requires a question for all other
// tools; the policy `edits` requires one only for bash.
func TestReadyPoliciesKnowEachTool(t *testing.T) {
	for _, tool := range Builtin() {
		for _, name := range []string{"ask", "edits"} {
			var p perdure.ApprovalPolicy
			if err := json.Unmarshal([]byte(strconv.Quote(name)), &p); err != nil {
				t.Fatal(err)
			}
			j, err := perdure.Approvals{Definition: p}.Judge(perdure.ApprovalCall{Tool: tool.Name, Arguments: json.RawMessage(`{}`)}, nil)
			want := perdure.ApprovalAsk
			if tool.ReadOnly || name == "edits" && tool.Name != "bash" {
				want = perdure.ApprovalAllow
			}
			if err != nil || j.Then != want {
				t.Errorf("the policy %s: %s for %s (%v), want %s", name, j.Then, tool.Name, err, want)
			}
		}
	}
}

func TestLookup(t *testing.T) {
	set, err := Lookup([]string{"grep", "bash"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"grep", "bash"}, set.Names()); diff != "" {
		t.Error(diff)
	}
	if _, ok := set.Get("find"); ok {
		t.Error("find was not asked for")
	}
	for _, names := range [][]string{{"grep", "rm"}, {"grep", "grep"}} {
		if _, err := Lookup(names); !perdure.IsCode(err, perdure.InvalidArgument) {
			t.Errorf("Lookup(%v) = %v", names, err)
		}
	}
}
