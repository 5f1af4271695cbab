package e2e

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// clientCase is one case for a client, with its expected result.
type clientCase struct {
	Name    string   `json:"name"`
	Kind    string   `json:"kind"`  // the client's function
	Model   string   `json:"model"` // created from script when the cases are prepared
	Mode    string   `json:"mode"`  // who stores the conversation, and how
	Stream  bool     `json:"stream"`
	Tools   bool     `json:"tools"` // the client has its tool get_weather
	Prompts []string `json:"prompts"`
	Image   string   `json:"image,omitempty"`

	// URL and Key are the address and the key of the server.
	URL string `json:"url"`
	Key string `json:"key"`

	// script is the name of the model's script in clientScripts. If the field `reads` is true, the
	// case uses a definition with the tool read-file, whose model plays that script.
	script string
	reads  bool
	// calls is the expected number of model calls; 0 skips the check.
	calls int
	// check returns a description of the fault that it finds, or "".
	check func(observation, []*exchange) string
	// only contains the names of the clients that run the case; empty means all clients.
	only []string
}

// observation is what a client observed in a case.
type observation struct {
	Name   string           `json:"name"`
	Error  string           `json:"error"`
	Texts  []string         `json:"texts"`
	Ran    []string         `json:"ran"` // the cities for which the client's tool was called
	Object json.RawMessage  `json:"object"`
	Status string           `json:"status"`
	End    string           `json:"end"`
	Cuts   []cutObservation `json:"cuts"`
}

// cutObservation is what a client observed of a conversation in which each stream was cut after N
// events.
type cutObservation struct {
	N       int      `json:"n"`
	Texts   []string `json:"texts"`
	Ran     []string `json:"ran"`
	Resumed int      `json:"resumed"` // number of streams that were resumed
}

// maxCuts is the maximum number of times that a conversation is repeated, each time with a later cut.
// The client stops earlier if no stream is long enough to be cut.
const maxCuts = 200

// cutURL returns the base URL at which the proxy cuts streams after n events. The client scripts build
// the same URL.
func cutURL(url string, n int) string {
	return strings.TrimSuffix(url, "/v1") + fmt.Sprintf("/cut/%d/v1", n)
}

// clientScripts are the scripts of the models in these cases, by name.
var clientScripts = map[string]string{
	"own": `turn
 text Let me look.
 call get_weather {"city": "Paris"}
turn
 expect sunny in Paris
 call get_weather {"city": "Rome"}
turn
 expect sunny in Rome
 call get_weather {"city": "Oslo"}
turn
 expect sunny in Oslo
 text It is sunny in three cities.
turn
 expect And now?
 text I look again.
 call get_weather {"city": "Lima"}
turn
 expect sunny in Lima
 text It still is.
`,
	"mixed": `turn
 thinking The note says where.
 text I read the note.
 call read-file {"path": "note.txt"}
turn
 expect Paris
 call get_weather {"city": "Paris"}
turn
 expect sunny in Paris
 call read-file {"path": "second.txt"}
 call get_weather {"city": "Rome"}
turn
 expect sunny in Rome
 thinking That is all.
 text The notes are done.
turn
 expect And now?
 thinking Once more.
 call read-file {"path": "note.txt"}
 call get_weather {"city": "Lima"}
turn
 expect sunny in Lima
 text It still says Paris.
`,
	"ten":        tenTurns(),
	"sees":       "turn\n text A red dot.\n",
	"structured": "turn\n text {\"city\": \"Paris\", \"sunny\": true}\n",
	"slow":       "pace 150ms\nturn\n text One two three four five six seven eight nine ten.\n",
}

// turnsOfTen is the number of prompts in the cases with many turns.
const turnsOfTen = 10

// tenTurns returns a script of ten answers. Before each answer, the model reads a file.
func tenTurns() string {
	var all strings.Builder
	for i := range turnsOfTen {
		fmt.Fprintf(&all, "turn\n thinking Prompt %[1]d.\n call read-file {\"path\": \"note.txt\"}\nturn\n expect Paris\n text Answer %[1]d.\n", i)
	}
	return all.String()
}

// dot is a PNG of one pixel.
const dot = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

// clientCases returns the cases of all clients.
func clientCases() []clientCase {
	var all []clientCase
	for _, mode := range []string{"default", "stateless", "stateful", "conversation", "session"} {
		for _, stream := range []bool{false, true} {
			all = append(all, talks(mode, stream)...)
		}
		all = append(all, manyTurns(mode))
	}
	for _, stream := range []bool{false, true} {
		all = append(all,
			clientCase{Name: named("image-data", stream), Kind: "image", script: "sees", Stream: stream, Image: dot, check: sawImage(dot)},
			clientCase{Name: named("image-url", stream), Kind: "image", script: "sees", Stream: stream, Image: imageURL, check: sawImage(imageURL)},
			clientCase{Name: named("structured", stream), Kind: "structured", script: "structured", Stream: stream, check: structured},
		)
	}
	for _, mode := range []string{"stateful", "stateless"} {
		all = append(all, clientCase{
			Name: "websocket-" + mode, Kind: "websocket", script: "own", calls: 6, Mode: mode, Tools: true,
			Prompts: []string{"The weather, please.", "And now?"}, check: overWebSocket, only: []string{"openai6", "openai7", "agents", "openai-go"},
		})
	}
	return append(all,
		clientCase{Name: "cancel", Kind: "cancel", script: "slow", check: cancelled},
		cuts("cut-own-tools", "own", false, observation{Texts: []string{"It is sunny in three cities."}, Ran: []string{"Paris", "Rome", "Oslo"}}),
		cuts("cut-perdure-tools", "mixed", true, observation{Texts: []string{"The notes are done."}, Ran: []string{"Paris", "Rome"}}),
	)
}

// cuts returns a case that repeats a conversation once for each event of its longest stream. In the
// nth repeat, every stream is cut after its nth event and resumed.
func cuts(name, script string, reads bool, want observation) clientCase {
	return clientCase{Name: name, Kind: "cut", script: script, reads: reads, Mode: "default", Stream: true, Tools: true, Prompts: []string{"The weather, please."}, check: func(s observation, all []*exchange) string {
		longest, broken := 0, map[int]int{}
		for _, x := range creates(all) {
			longest = max(longest, len(x.Events))
			if x.Cut > 0 && len(x.Events) == x.Cut {
				broken[x.Cut]++
			}
		}
		if longest < 8 {
			return fmt.Sprintf("the longest stream has %d events", longest)
		}
		for i, c := range s.Cuts {
			if wrong := first(differs("the texts", want.Texts, c.Texts), differs("the client's tools ran for", want.Ran, c.Ran), differs("the streams that were read on", broken[c.N], c.Resumed)); wrong != "" {
				return fmt.Sprintf("cut after %d events, %s", i+1, wrong)
			}
		}
		return differs("the places of the cut, and none", longest+1, len(s.Cuts))
	}}
}

// imageURL is an image address that is never requested.
const imageURL = "http://images.example/dot.png"

func named(name string, stream bool) string {
	if stream {
		return name + "-streamed"
	}
	return name
}

// talks returns two cases for one way of storing the conversation. In the first, the model calls only
// the client's own tools; in the second, it also calls Perdure's tools. Each case has a second
// prompt.
func talks(mode string, stream bool) []clientCase {
	base := clientCase{Kind: "talk", Mode: mode, Stream: stream, Tools: true, Prompts: []string{"The weather, please.", "And now?"}}
	if mode == "session" {
		base.only = []string{"agents"}
	}
	own, mixed := base, base
	own.Name, own.script, own.calls, own.check = named("own-tools-"+mode, stream), "own", 6, ownTools
	mixed.Name, mixed.script, mixed.reads, mixed.calls, mixed.check = named("perdure-tools-"+mode, stream), "mixed", true, 6, perdureTools
	return []clientCase{own, mixed}
}

// manyTurns returns a case with a conversation of ten prompts.
func manyTurns(mode string) clientCase {
	c := clientCase{Name: "ten-turns-" + mode, Kind: "talk", script: "ten", reads: true, calls: 2 * turnsOfTen, Mode: mode, Stream: true, check: constantItems}
	for i := range turnsOfTen {
		c.Prompts = append(c.Prompts, fmt.Sprintf("Prompt %d?", i))
	}
	if mode == "session" {
		c.only = []string{"agents"}
	}
	return c
}

// outputItem contains the members of an item that the checks use.
type outputItem struct {
	Type, ID, Status, Name, Arguments string
	Role                              string
	ServerLabel                       string `json:"server_label"`
	Output                            any
	Content                           json.RawMessage
}

// outputs returns the output items of a response.
func (x *exchange) outputs() []outputItem {
	var answer struct{ Output []outputItem }
	_ = json.Unmarshal(x.Answer, &answer) // a refusal has none
	return answer.Output
}

// inputs returns the input items of a request that creates a response. A plain text counts as one
// item.
func (x *exchange) inputs() []outputItem {
	var create struct{ Input json.RawMessage }
	_ = json.Unmarshal(x.Request, &create)
	var items []outputItem
	if json.Unmarshal(create.Input, &items) != nil {
		return []outputItem{{Type: "message", Role: "user"}}
	}
	return items
}

func kinds(items []outputItem) []string {
	var all []string
	for _, i := range items {
		all = append(all, i.Type)
	}
	return all
}

func creates(all []*exchange) []*exchange {
	return slices.DeleteFunc(slices.Clone(all), func(x *exchange) bool { return x.Method != "POST" || x.Path != "/v1/responses" })
}

// differs describes how two values differ, or returns "".
func differs(what string, want, got any) string {
	w, _ := json.Marshal(want)
	g, _ := json.Marshal(got)
	if string(w) == string(g) {
		return ""
	}
	return fmt.Sprintf("%s: want %s, got %s", what, w, g)
}

func first(faults ...string) string {
	for _, f := range faults {
		if f != "" {
			return f
		}
	}
	return ""
}

// ownTools checks a conversation with three rounds of the client's own tools, and then a second
// prompt.
func ownTools(s observation, all []*exchange) string {
	return first(
		differs("the client's tools ran for", []string{"Paris", "Rome", "Oslo", "Lima"}, s.Ran),
		differs("the texts", []string{"It is sunny in three cities.", "It still is."}, s.Texts),
		differs("the creates", 6, len(creates(all))),
	)
}

// overWebSocket checks the same conversation as ownTools, over one WebSocket connection. No response
// may be created by an HTTP request.
func overWebSocket(s observation, all []*exchange) string {
	connections := 0
	for _, x := range all {
		if x.Method == "GET" && x.Path == "/v1/responses" && x.Status == 101 {
			connections++
		}
	}
	return first(
		differs("the client's tools ran for", []string{"Paris", "Rome", "Oslo", "Lima"}, s.Ran),
		differs("the texts", []string{"It is sunny in three cities.", "It still is."}, s.Texts),
		differs("the creates", 0, len(creates(all))),
		differs("the connections", 1, connections),
	)
}

// perdureTools checks a conversation in which Perdure runs the tool read-file: once alone, and
// otherwise together with a tool of the client. A second prompt follows.
func perdureTools(s observation, all []*exchange) string {
	var here, there []string
	for _, x := range creates(all) {
		for _, item := range x.outputs() {
			switch {
			case item.Type == "mcp_call":
				here = append(here, item.Name)
				if item.ServerLabel != "perdure" || item.Status != "completed" || item.Output == nil || !strings.HasPrefix(item.ID, "mcp_") {
					return fmt.Sprintf("the item of a call at Perdure is %+v", item)
				}
			case item.Type == "function_call":
				there = append(there, item.Name)
			case item.Type == "function_call_output":
				return "the output has a function_call_output"
			}
		}
	}
	return first(
		differs("the mcp_call items", []string{"read-file", "read-file", "read-file"}, here),
		differs("the function_call items", []string{"get_weather", "get_weather", "get_weather"}, there),
		differs("the client's tools ran for", []string{"Paris", "Rome", "Lima"}, s.Ran),
		differs("the texts", []string{"The notes are done.", "It still says Paris."}, s.Texts),
		differs("the creates", 5, len(creates(all))),
	)
}

// constantItems checks that the answers to all prompts have the same kinds of output items. The
// number of input items must grow by the same amount from request to request.
func constantItems(s observation, all []*exchange) string {
	var texts []string
	for i := range turnsOfTen {
		texts = append(texts, fmt.Sprintf("Answer %d.", i))
	}
	if wrong := first(differs("the texts", texts, s.Texts), differs("the creates", turnsOfTen, len(creates(all)))); wrong != "" {
		return wrong
	}
	grows := []int{}
	for i, x := range creates(all) {
		if wrong := differs(fmt.Sprintf("the output of turn %d", i), []string{"reasoning", "mcp_call", "message"}, kinds(x.outputs())); wrong != "" {
			return wrong
		}
		if i > 0 {
			grows = append(grows, len(x.inputs())-len(creates(all)[i-1].inputs()))
		}
	}
	return differs("the items that a turn sends beyond the one before", slices.Repeat(grows[:1], len(grows)), grows)
}

func sawImage(url string) func(observation, []*exchange) string {
	return func(s observation, all []*exchange) string {
		if len(creates(all)) != 1 || !strings.Contains(string(creates(all)[0].Request), url) {
			return "the client did not send the image"
		}
		return differs("the texts", []string{"A red dot."}, s.Texts)
	}
}

func structured(s observation, all []*exchange) string {
	var format struct {
		Text struct {
			Format struct {
				Type   string
				Schema json.RawMessage
			}
		}
	}
	if len(creates(all)) != 1 {
		return fmt.Sprintf("the client made %d creates", len(creates(all)))
	}
	_ = json.Unmarshal(creates(all)[0].Answer, &format)
	var object any
	_ = json.Unmarshal(s.Object, &object)
	return first(
		differs("the object", map[string]any{"city": "Paris", "sunny": true}, object),
		differs("the format", "json_schema", format.Text.Format.Type),
		differs("the schema is echoed", true, len(format.Text.Format.Schema) > 4),
	)
}

func cancelled(s observation, _ []*exchange) string {
	return first(differs("the cancelled response", "cancelled", s.Status), differs("its end", "cancelled", s.End))
}
