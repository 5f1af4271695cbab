package rest_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/face/facetest"
	"github.com/perdure/perdure/internal/longtest"
)

func TestWrongFieldsAreNamed(t *testing.T) {
	h := open(t)
	for body, field := range map[string]string{
		`{"models":[{"provider":"none","modelId":"m"}]}`:                                       "models[0].provider",
		`{"models":[{"provider":"scripted"}]}`:                                                 "models[0].modelId",
		`{"models":[{"provider":"scripted","modelId":"m"},{"provider":"none","modelId":"m"}]}`: "models[1].provider",
		`{"models":"x"}`: "models",
		`{"models":[{"provider":"scripted","modelId":"` + big(perdure.MaxModelID+1) + `"}]}`:                                           "models[0].modelId",
		`{"models":[{"provider":"scripted","modelId":"a\nb"}]}`:                                                                        "models[0].modelId",
		`{"models":[` + strings.Repeat(`{"provider":"scripted","modelId":"m"},`, perdure.MaxModels) + models[len(`"models":[`):] + `}`: "models",
		`{` + models + `,"config":{"maxTurns":"x"}}`:                                                                                   "config.maxTurns",
		`{` + models + `,"config":{"maxTurns":0}}`:                                                                                     "config.maxTurns",
		`{` + models + `,"config":{"thinking":"deep"}}`:                                                                                "config.thinking",
		`{` + models + `,"userPromt":"x"}`:                                                                                             "userPromt",
		`{` + models + `,"persistenceMode":"x"}`:                                                                                       "persistenceMode",
		`{` + models + `,"metadata":[]}`:                                                                                               "metadata",
		`{` + models + `,"workspace":"../x"}`:                                                                                          "workspace",
		`{` + models + `,"oneShot":true}`:                                                                                              "userPrompt",
		`{` + models + `,"input":{}}`:                                                                                                  "input",
		`{"userPrompt":"x"}`:                                                                                                           "models",
		`{"kind":"x"}`:                                                                                                                 "kind",
		`{` + models:                                                                                                                   "body",
		`[]`:                                                                                                                           "body",
		``:                                                                                                                             "body",

		// Metadata over the limit.
		`{` + models + `,"metadata":{"a":"` + big(20<<10) + `"}}`: "metadata",
	} {
		h.Call("POST", "/agent-executions", body).Problem(400, "invalid_argument", field)
	}
	for query, field := range map[string]string{
		"limit=0": "limit", "limit=1001": "limit", "limit=x": "limit", "status=odd": "status", "createdAfter=now": "createdAfter",
	} {
		h.Call("GET", "/agent-executions?"+query, "").Problem(400, "invalid_argument", field)
	}
	h.Call("GET", "/agent-executions?cursor=%21", "").Problem(400, "invalid_argument", "cursor")
}

func big(n int) string { return strings.Repeat("x", n) }

func TestNullsStandForWhatIsLeftOut(t *testing.T) {
	h := open(t)
	h.Call("POST", "/agent-executions", `{"kind":null,"agentDefinitionId":null,"userPrompt":"hi","systemPrompt":null,`+models+
		`,"tools":null,"config":null,"input":null,"oneShot":null,"workspace":null,"queue":null,"metadata":null,"persistenceMode":null}`).Want(201, nil)
}

func TestUnknownAndMalformedIDsAreNotFound(t *testing.T) {
	h := open(t)
	for _, id := range []string{uuid.NewString(), "x", "00000000000000000000000000000000", "%7B" + uuid.NewString() + "%7D"} {
		at := "/agent-executions/" + id
		for _, rest := range []string{"", "/checkpoints", "/checkpoints/latest", "/checkpoints/1", "/tasks", "/signals", "/entries", "/entries?all=true", "/entries/x", "/events", "/snapshot", "/stream", "/stream/consolidated"} {
			h.Call("GET", at+rest, "").Problem(404, "not_found", "")
		}
		h.Call("DELETE", at, "").Problem(404, "not_found", "")
		h.Call("POST", at+"/signal", `{"signalName":"a"}`).Problem(404, "not_found", "")
		h.Call("GET", "/agent-definitions/"+id, "").Problem(404, "not_found", "")
		h.Call("PUT", "/agent-definitions/"+id, `{"name":"x",`+models+`}`).Problem(404, "not_found", "")
	}
}

func TestMissingObjectsAreProblems(t *testing.T) {
	h := open(t)
	h.Call("GET", "./nothing", "").Problem(404, "not_found", "")
	h.Call("GET", "/nothing", "").Problem(404, "not_found", "")
	r := h.Call("PATCH", "/agent-executions", "{}")
	r.Want(405, nil)
	if r.Header.Get("Content-Type") != "application/problem+json" || !strings.Contains(r.Header.Get("Allow"), "POST") {
		t.Errorf("got %v %s", r.Header, r.Body)
	}
}

func TestBodiesOver8MiBAreRefused(t *testing.T) {
	longtest.Skip(t, "seconds")
	h := open(t)
	body := `{` + models + `,"userPrompt":"`
	limit := 8<<20 - len(body) - len(`"}`)
	h.Call("POST", "/agent-executions", body+big(limit)+`"}`).Want(201, nil)
	h.Call("POST", "/agent-executions", body+big(limit+1)+`"}`).Problem(413, "payload_too_large", "")
	// A request body over the limit without a Content-Length.
	req := h.Request("POST", "/agent-executions", "x")
	req.Body, req.ContentLength = io.NopCloser(strings.NewReader(body+big(20<<20)+`"}`)), -1
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != 413 {
		t.Errorf("status %d", res.StatusCode)
	}
}

func TestIdempotencyKey(t *testing.T) {
	h := open(t)
	key := []string{"Idempotency-Key", "k1"}
	var one, two perdure.Execution
	h.Call("POST", "/agent-executions", `{"userPrompt":"hi",`+models+`,"metadata":{"a":"1","b":"2"}}`, key...).Want(201, &one)
	h.Call("POST", "/agent-executions", `{"metadata":{"b":"2","a":"1"}, "oneShot":false, `+models+`,"userPrompt":"hi"}`, key...).Want(201, &two)
	if one.ID != two.ID {
		t.Error("a repeat made another execution")
	}
	h.Call("POST", "/agent-executions", `{"userPrompt":"ho",`+models+`}`, key...).Problem(422, "idempotency_key_reused", "")
	h.Call("POST", "/agent-executions", `{"userPrompt":"hi",`+models+`}`, "Idempotency-Key", big(256)).Problem(400, "invalid_argument", "Idempotency-Key")
}

// TestIdempotencyKeyDistinguishesLargeNumbers checks that two requests whose numbers differ, but
// round to the same float64, are not the same request for an idempotency key.
func TestIdempotencyKeyDistinguishesLargeNumbers(t *testing.T) {
	h := open(t)
	body := func(n string) string { return `{"kind":"count","input":{"n":` + n + `}}` }
	h.Call("POST", "/agent-executions", body("9007199254740993"), "Idempotency-Key", "k").Want(201, nil)
	h.Call("POST", "/agent-executions", body("9007199254740992"), "Idempotency-Key", "k").Problem(422, "idempotency_key_reused", "")
}

func TestInternalErrorsShowAnIDOnly(t *testing.T) {
	h := open(t)
	x := h.Start("")
	inside := errors.New("no such table: agent_execution")
	h.Store.Err.Store(&inside)
	p := h.Call("GET", h.Path(x.ID, ""), "").Problem(500, "internal", "")
	id := facetest.UUIDs.FindString(p.Detail)
	if strings.Contains(p.Detail, "table") || id == "" || !strings.Contains(h.Logged.String(), id) {
		t.Errorf("the answer is %q; the log has\n%s", p.Detail, h.Logged)
	}
	away := error(perdure.Errorf(perdure.Unavailable, "the store is away"))
	h.Store.Err.Store(&away)
	h.Call("GET", h.Path(x.ID, ""), "").Problem(503, "unavailable", "")
}

func TestListsPageAndFilter(t *testing.T) {
	h := open(t)
	var want []uuid.UUID
	for i := range 7 {
		x := h.Start(fmt.Sprintf(`,"metadata":{"n":"%d","even":%v}`, i, i%2 == 0))
		want = append([]uuid.UUID{x.ID}, want...)
	}
	h.Call("DELETE", h.Path(want[0], ""), "").Want(202, nil)
	list := func(query string) []uuid.UUID {
		t.Helper()
		var ids []uuid.UUID
		for cursor := ""; ; {
			var p page[perdure.Execution]
			h.Call("GET", "/agent-executions?"+query+"&cursor="+cursor, "").Want(200, &p)
			if p.Items == nil {
				t.Fatal("items are null")
			}
			for _, x := range p.Items {
				ids = append(ids, x.ID)
			}
			if p.NextCursor == nil {
				return ids
			}
			cursor = *p.NextCursor
		}
	}
	for query, ids := range map[string][]uuid.UUID{
		"":                                      want,
		"limit=2":                               want,
		"limit=7":                               want,
		"status=cancelled":                      want[:1],
		"status=PENDING&limit=3":                want[1:],
		"status=pending,CANCELLED":              want,
		"status=pending&status=failed":          want[1:],
		"metadata.n=3":                          want[3:4],
		"metadata.even=true&limit=1":            {want[0], want[2], want[4], want[6]},
		"metadata.n=3&metadata.even=true":       nil,
		"kind=react-agent":                      want,
		"kind=other":                            nil,
		"q=" + want[2].String():                 want[2:3],
		"createdAfter=2100-01-01T00:00:00Z":     nil,
		"createdBefore=2100-01-01T00:00:00Z":    want,
		"agentDefinitionId=" + uuid.NewString(): nil,
	} {
		if got := list(query); fmt.Sprint(got) != fmt.Sprint(ids) {
			t.Errorf("%s gives %v, want %v", query, got, ids)
		}
	}
}

func TestEntriesPageAlongThePath(t *testing.T) {
	h := open(t)
	x := h.Start("")
	run := h.Claim()
	var want []uuid.UUID
	for i := range 5 {
		want = append(want, run.Say(userText(fmt.Sprint(i))).ID)
	}
	run.Leaf = &want[1] // the leaf moves to another branch
	branch := run.Say(userText("other")).ID
	for _, c := range []struct {
		query string
		want  []uuid.UUID
	}{
		{"limit=1", []uuid.UUID{want[0], want[1], branch}},
		{"limit=50", []uuid.UUID{want[0], want[1], branch}},
		{"limit=2&all=true", append(append([]uuid.UUID{}, want...), branch)},
	} {
		var got []uuid.UUID
		for cursor := ""; ; {
			var p page[perdure.Entry]
			h.Call("GET", h.Path(x.ID, "/entries?"+c.query+"&cursor="+cursor), "").Want(200, &p)
			for _, e := range p.Items {
				got = append(got, e.ID)
			}
			if p.NextCursor == nil {
				break
			}
			cursor = *p.NextCursor
		}
		if fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s gives %v, want %v", c.query, got, c.want)
		}
	}
	h.Call("GET", h.Path(x.ID, "/entries?cursor=x"), "").Problem(400, "invalid_argument", "cursor")
	h.Call("GET", h.Path(x.ID, "/entries?cursor="+want[4].String()), "").Problem(400, "invalid_argument", "cursor")
}

// TestEveryCodeHasItsStatus checks that the server answers each error code of the store with the
// HTTP status for that code.
func TestEveryCodeHasItsStatus(t *testing.T) {
	h := open(t)
	x := h.Start("")
	for code, status := range map[perdure.Code]int{
		perdure.InvalidArgument: 400, perdure.Unauthenticated: 401, perdure.PermissionDenied: 403, perdure.NotFound: 404,
		perdure.AlreadyExists: 409, perdure.ExecutionEnded: 409, perdure.LeaseLost: 409, perdure.Conflict: 409, perdure.StepNameReused: 409,
		perdure.QuestionDecided: 409, perdure.DetailsChanged: 409, perdure.AlreadyVoted: 409, perdure.QuestionKeyReused: 422,
		perdure.PayloadTooLarge: 413, perdure.InvalidTranscript: 422, perdure.IdempotencyKeyReused: 422,
		perdure.RateLimited: 429, perdure.Internal: 500, perdure.Unsupported: 501, perdure.Unavailable: 503,
	} {
		err := error(perdure.Errorf(code, "planned"))
		h.Store.Err.Store(&err)
		h.Call("GET", h.Path(x.ID, ""), "").Problem(status, code, "")
	}
}
