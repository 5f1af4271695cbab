package fold_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/log/fold"
)

// recorded is the folder with recorded logs and their trees. web/client/test/recorded.test.ts
// checks the TypeScript implementation of the tree with the same files.
const recorded = "testdata"

// tree is the form in which the trees of the Go and the TypeScript implementations are compared.
type tree struct {
	Responses []responseNode `json:"responses"`
	Withdrawn []int64        `json:"withdrawn"`
	// Compactions is absent if there are none.
	Compactions []compactionNode `json:"compactions,omitempty"`
}

type compactionNode struct {
	ID      string `json:"id"`
	After   string `json:"after"`
	Line    string `json:"line"`
	Summary string `json:"summary"`
}

type responseNode struct {
	ID    string     `json:"id"`
	Turns []turnNode `json:"turns"`
}

type turnNode struct {
	ID       string        `json:"id"`
	Messages []messageNode `json:"messages"`
}

type messageNode struct {
	ID     string       `json:"id"`
	Role   perdure.Role `json:"role"`
	Stored bool         `json:"stored"`
	Parts  []partNode   `json:"parts"`
}

type partNode struct {
	Type perdure.PartType `json:"type"`
	Text string           `json:"text,omitempty"`
	Call *callNode        `json:"call,omitempty"`
}

type callNode struct {
	ID        string       `json:"id"`
	Name      string       `json:"name"`
	Arguments string       `json:"arguments"`
	Outputs   []outputNode `json:"outputs"`
	Result    *resultNode  `json:"result"`
}

type outputNode struct {
	Stream string `json:"stream"`
	Text   string `json:"text"`
}

type resultNode struct {
	IsError bool   `json:"isError"`
	Text    string `json:"text"`
}

// events reads a recorded log.
func events(t *testing.T, file string) []fold.Event {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var all []fold.Event
	for line := range bytes.Lines(raw) {
		var e client.Event
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		r, entry, err := e.Record()
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		all = append(all, fold.Event{Record: &r, Entry: entry, Whole: e.Type == client.EventSnapshot})
	}
	return all
}

func folded(t *testing.T, events []fold.Event) *fold.Tree {
	t.Helper()
	f := fold.NewTree(uuid.Nil)
	for _, e := range events {
		if _, err := f.Apply(e); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

func treeOf(f *fold.Tree) tree {
	all := tree{Responses: []responseNode{}, Withdrawn: append([]int64{}, f.Withdrawn...)}
	slices.Sort(all.Withdrawn)
	for _, c := range f.Compactions {
		node := compactionNode{ID: c.Entry.ID.String(), Line: c.Line(), Summary: c.Summary}
		if c.After != nil {
			node.After = c.After.ID
		}
		all.Compactions = append(all.Compactions, node)
	}
	for _, r := range f.Responses {
		node := responseNode{ID: r.ID, Turns: []turnNode{}}
		for _, turn := range r.Turns {
			messages := []messageNode{}
			for _, m := range turn.Messages {
				if n := messageOf(m); n.Stored || len(n.Parts) > 0 {
					messages = append(messages, n)
				}
			}
			if len(messages) > 0 {
				node.Turns = append(node.Turns, turnNode{turn.ID, messages})
			}
		}
		all.Responses = append(all.Responses, node)
	}
	return all
}

func messageOf(m *fold.Message) messageNode {
	node := messageNode{ID: m.ID, Role: m.Role, Stored: m.Entry != nil, Parts: []partNode{}}
	for _, p := range m.Parts {
		if p.State == fold.Withdrawn {
			continue
		}
		part := partNode{Type: p.Type, Text: p.Text()}
		if p.Call != nil {
			part.Text, part.Call = "", callOf(p.Call)
		}
		node.Parts = append(node.Parts, part)
	}
	return node
}

func callOf(c *fold.Call) *callNode {
	node := &callNode{ID: c.ID, Name: c.Name, Arguments: c.Arguments(), Outputs: []outputNode{}}
	for _, o := range c.Outputs {
		if o.Block.State != fold.Withdrawn {
			node.Outputs = append(node.Outputs, outputNode{o.Stream, o.Block.Text()})
		}
	}
	if c.Result != nil {
		node.Result = &resultNode{IsError: c.Result.IsError}
		for _, p := range c.Result.Parts {
			node.Result.Text += p.Text
		}
	}
	return node
}

// TestRecordedLogsHaveTheirTrees checks the trees of each recorded log after some of its events.
// The log's file .trees.json contains at least two trees, each with the number of events that it is
// built from. One is the tree of the whole log.
func TestRecordedLogsHaveTheirTrees(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(recorded, "*.jsonl"))
	if err != nil || len(files) < 6 {
		t.Fatalf("%d recorded logs (%v)", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".jsonl")
		t.Run(name, func(t *testing.T) {
			all := events(t, file)
			raw, err := os.ReadFile(strings.TrimSuffix(file, ".jsonl") + ".trees.json")
			if err != nil {
				t.Fatal(err)
			}
			var want map[int]tree
			if err := json.Unmarshal(raw, &want); err != nil {
				t.Fatal(err)
			}
			if _, whole := want[len(all)]; !whole || len(want) < 2 {
				t.Fatalf("trees at %d positions, of the whole log %v", len(want), whole)
			}
			for n, tree := range want {
				if diff := cmp.Diff(tree, treeOf(folded(t, all[:n]))); diff != "" {
					t.Errorf("after %d events (-want +got):\n%s", n, diff)
				}
			}
		})
	}
}

// TestStoredMessagesAreMerged checks that the stored messages of a tree, and the results of its
// calls, are in the same order in the response that Merged returns.
func TestStoredMessagesAreMerged(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join(recorded, "*.jsonl"))
	merged := 0
	for _, file := range files {
		for _, r := range folded(t, events(t, file)).Responses {
			var want, got []string
			for _, turn := range r.Turns {
				for _, m := range turn.Messages {
					if m.Entry == nil {
						continue
					}
					want = append(want, m.ID)
					for _, p := range m.Parts {
						if p.Call != nil && p.Call.Result != nil {
							want = append(want, "result of "+p.Call.ID)
						}
					}
				}
			}
			for _, m := range r.Merged().Messages {
				if m.Role == perdure.RoleToolResult {
					got = append(got, "result of "+m.Contents[0].Part.ToolCallID)
					continue
				}
				got = append(got, m.ID)
			}
			merged += len(got)
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s (-tree +merged):\n%s", file, diff)
			}
		}
	}
	if merged < 10 {
		t.Errorf("only %d messages were merged", merged)
	}
}

// TestChunksDoNotMatter checks that a log has the same tree if each chunk comes twice: first in two
// parts, then whole.
func TestChunksDoNotMatter(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join(recorded, "*.jsonl"))
	cuts := 0
	for _, file := range files {
		whole := events(t, file)
		var cut []fold.Event
		for _, e := range whole {
			c := e.Record.Chunk
			if c == nil || len(c.Text) < 2 || c.Text[1] >= 0x80 {
				cut = append(cut, e)
				continue
			}
			cuts++
			first, second := *e.Record, *e.Record
			head, tail := *c, *c
			head.Text, tail.Text, tail.Offset = c.Text[:1], c.Text[1:], c.Offset+1
			first.Chunk, second.Chunk = &head, &tail
			cut = append(cut, fold.Event{Record: &first}, fold.Event{Record: &second}, e)
		}
		if diff := cmp.Diff(treeOf(folded(t, whole)), treeOf(folded(t, cut))); diff != "" {
			t.Errorf("%s (-whole +cut):\n%s", file, diff)
		}
	}
	if cuts < 10 {
		t.Errorf("only %d chunks were cut", cuts)
	}
}
