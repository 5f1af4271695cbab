package rest_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/face"
)

// programCatalog is the catalog of a program with two providers and two tools.
var programCatalog = perdure.Catalog{
	Providers: []perdure.ProviderInfo{
		{Name: "acme", APIKeyEnvs: []string{"ACME_KEY"}, DefaultModel: "m1", Models: []perdure.ModelInfo{{ID: "m1", Price: perdure.Price{Input: 2, Output: 8}}}},
		{Name: "scripted"},
	},
	Tools: []perdure.ToolInfo{
		{Name: "look", Description: "Looks.", InputSchema: json.RawMessage(`{"type":"object"}`), ReadOnly: true},
		{Name: "fetch", Description: "Fetches.", Network: true},
	},
}

// withCatalog adds programCatalog to the configuration of a server.
func withCatalog(c *face.Config) { c.Catalog = programCatalog }

func (h *testServer) register(r perdure.Registration) {
	h.T.Helper()
	r.WorkerID, r.Queues = uuid.New(), []string{"default"}
	if _, err := h.Worker.Register(h.T.Context(), r); err != nil {
		h.T.Fatal(err)
	}
}

// TestKindsAreThoseThatWorkersRegistered checks that /kinds lists the registered kinds, agents
// before tasks, with their descriptions, input schemas and providers. The list can be filtered by
// type.
func TestKindsAreThoseThatWorkersRegistered(t *testing.T) {
	h := open(t)
	h.register(perdure.Registration{
		Agents: []perdure.KindSpec{{Kind: "count", Description: "Counts.", InputSchema: json.RawMessage(`{"type":"object"}`)}},
		Tasks:  []perdure.KindSpec{{Kind: "count", Description: "A task of the same name."}},
	})
	var page struct {
		Items      []perdure.KindInfo
		NextCursor *string
	}
	h.Call("GET", "/kinds", "").Want(200, &page)
	var got []string
	for _, k := range page.Items {
		got = append(got, fmt.Sprintf("%s %s %q %s %v", k.Type, k.Kind, k.Description, k.InputSchema, k.Providers))
		if k.RegisteredAt.IsZero() {
			t.Errorf("%s has no time of registration", k.Kind)
		}
	}
	want := []string{
		`agent anything ""  []`, `agent count "Counts." {"type":"object"} []`, `agent react-agent ""  [scripted]`,
		`task count "A task of the same name."  []`,
	}
	if !slices.Equal(got, want) || page.NextCursor != nil {
		t.Errorf("the kinds are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for of, want := range map[string]int{"agent": 3, "task": 1} {
		h.Call("GET", "/kinds?type="+of, "").Want(200, &page)
		if len(page.Items) != want || string(page.Items[0].Type) != of {
			t.Errorf("of type %s there are %+v", of, page.Items)
		}
	}
	h.Call("GET", "/kinds?type=step", "").Problem(400, perdure.InvalidArgument, "type")
}

// TestKindsComeInPages checks that a list of 23 kinds in pages of seven contains each kind once.
// The lists of the catalog refuse an invalid cursor.
func TestKindsComeInPages(t *testing.T) {
	h := open(t)
	var tasks []perdure.KindSpec
	for i := range 20 {
		tasks = append(tasks, perdure.KindSpec{Kind: fmt.Sprintf("task/%02d", i)})
	}
	h.register(perdure.Registration{Tasks: tasks})
	var all []string
	for cursor := ""; ; {
		var page struct {
			Items      []perdure.KindInfo
			NextCursor *string
		}
		h.Call("GET", "/kinds?limit=7&cursor="+url.QueryEscape(cursor), "").Want(200, &page)
		if len(page.Items) > 7 {
			t.Fatalf("a page has %d items", len(page.Items))
		}
		for _, k := range page.Items {
			all = append(all, k.Kind)
		}
		if page.NextCursor == nil {
			break
		}
		cursor = *page.NextCursor
	}
	if len(all) != 23 || len(slices.Compact(slices.Sorted(slices.Values(all)))) != 23 {
		t.Errorf("the pages have %v", all)
	}
	for _, wrong := range []string{"%21", "eA", "agent"} {
		for _, path := range []string{"/kinds", "/providers", "/tools"} {
			h.Call("GET", path+"?cursor="+wrong, "").Problem(400, perdure.InvalidArgument, "cursor")
		}
	}
}

// TestProvidersAreThoseOfProgramAndWorkers checks that /providers lists the program's providers and
// those that only workers have registered. The list reports which of them have a worker.
func TestProvidersAreThoseOfProgramAndWorkers(t *testing.T) {
	h := open(t, withCatalog)
	h.register(perdure.Registration{Agents: []perdure.KindSpec{{Kind: "other", Providers: []string{"own"}}}})
	var page struct{ Items []perdure.ProviderInfo }
	h.Call("GET", "/providers", "").Want(200, &page)
	var got []string
	for _, p := range page.Items {
		got = append(got, fmt.Sprintf("%s %t %v %s %v", p.Name, p.Registered, p.APIKeyEnvs, p.DefaultModel, p.Models))
	}
	want := []string{"acme false [ACME_KEY] m1 [{m1 {2 8 0 0} 0 0}]", "scripted true []  []", "own true []  []"}
	if !slices.Equal(got, want) {
		t.Errorf("the providers are %q, want %q", got, want)
	}
	if programCatalog.Providers[1].Registered {
		t.Error("the program's catalog was changed")
	}
}

// TestToolsAreThoseOfTheProgram checks that /tools lists the program's tools, and reports for each
// whether a worker has registered it.
func TestToolsAreThoseOfTheProgram(t *testing.T) {
	h := open(t, withCatalog)
	h.register(perdure.Registration{Tasks: []perdure.KindSpec{{Kind: "fetch"}, {Kind: "unrelated"}}})
	var page struct{ Items []perdure.ToolInfo }
	h.Call("GET", "/tools", "").Want(200, &page)
	var got []string
	for _, tool := range page.Items {
		got = append(got, fmt.Sprintf("%s %q %s %t %t %t", tool.Name, tool.Description, tool.InputSchema, tool.ReadOnly, tool.Network, tool.Registered))
	}
	want := []string{`look "Looks." {"type":"object"} true false false`, `fetch "Fetches."  false true true`}
	if !slices.Equal(got, want) {
		t.Errorf("the tools are %q, want %q", got, want)
	}
}

// TestTheCatalogIsThatOfTheOrg checks that the catalog contains nothing that only workers of
// another org have registered.
func TestTheCatalogIsThatOfTheOrg(t *testing.T) {
	h := open(t, withCatalog)
	if _, err := h.Engine.CreateOrg(t.Context(), "other"); err != nil {
		t.Fatal(err)
	}
	theirs := h.Engine.Dispatch("other", false)
	_, err := theirs.Register(t.Context(), perdure.Registration{
		WorkerID: uuid.New(), Queues: []string{"default"},
		Agents: []perdure.KindSpec{{Kind: "secret", Providers: []string{"hidden"}}}, Tasks: []perdure.KindSpec{{Kind: "look"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/kinds", "/providers", "/tools"} {
		for _, item := range items(t, h.Call("GET", path, "").Object(200)) {
			if item["kind"] == "secret" || item["name"] == "hidden" || item["name"] == "look" && item["registered"] == true {
				t.Errorf("%s shows %v", path, item)
			}
		}
	}
}

// TestListsFilterByTag checks that lists of kinds and of executions filter by a tag of the kind.
func TestListsFilterByTag(t *testing.T) {
	h := open(t)
	h.register(perdure.Registration{
		Agents: []perdure.KindSpec{
			{Kind: "bill", Tags: []string{"money", "nightly"}, OutputSchema: json.RawMessage(`{"type":"string"}`)},
			{Kind: "mail", Tags: []string{"nightly"}},
		},
		Tasks: []perdure.KindSpec{{Kind: "pay", Tags: []string{"money"}}},
	})
	for _, kind := range []string{"bill", "mail", "anything"} {
		h.Call("POST", "/agent-executions", fmt.Sprintf(`{"kind":%q}`, kind)).Want(201, nil)
	}
	for tag, want := range map[string][2]string{
		"money": {"bill pay", "bill"}, "nightly": {"bill mail", "mail bill"}, "unknown": {"", ""},
	} {
		var page struct{ Items []struct{ Kind string } }
		for i, path := range []string{"/kinds?tag=", "/agent-executions?tag="} {
			h.Call("GET", path+tag, "").Want(200, &page)
			var got []string
			for _, k := range page.Items {
				got = append(got, k.Kind)
			}
			if strings.Join(got, " ") != want[i] {
				t.Errorf("%s%s lists %q, want %s", path, tag, got, want[i])
			}
		}
	}
	var page struct{ Items []perdure.KindInfo }
	h.Call("GET", "/kinds?tag=money&type=agent", "").Want(200, &page)
	if len(page.Items) != 1 || string(page.Items[0].OutputSchema) != `{"type":"string"}` || !slices.Equal(page.Items[0].Tags, []string{"money", "nightly"}) {
		t.Errorf("the kind is %+v", page.Items)
	}
}
