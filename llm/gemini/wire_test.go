package gemini_test

import (
	"net/http"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/llm/gemini"
	"github.com/perdure/perdure/llm/llmtest"
)

// TestModelNamesThatChangeTheURLAreRefused checks that model names which would change other parts
// of the URL are refused before anything is sent.
func TestModelNamesThatChangeTheURLAreRefused(t *testing.T) {
	p, server := remote.Serve(t, llmtest.Answer{Text: []string{"ok"}, Usage: perdure.Usage{Output: 1}})
	for _, name := range []string{"", "a?b", "a&b", "..", "a/../b", "models/../b", "a%", "%zz"} {
		_, _, err := llmtest.TryAsk(t.Context(), p, llm.Request{Model: name, Messages: []perdure.Message{perdure.UserText("hi")}})
		_ = llmtest.WantError(t, err, llm.InvalidRequest, false)
	}
	if n := len(server.Requests()); n != 0 {
		t.Errorf("%d calls were sent", n)
	}
}

// TestTheClientOfAnotherFollowsNoRedirect checks that a redirect is not followed even if the
// configured HTTP client would follow it.
func TestTheClientOfAnotherFollowsNoRedirect(t *testing.T) {
	thief := llmtest.NewServer(t, llmtest.Gemini, llmtest.Answer{Text: []string{"mine now"}})
	server := llmtest.NewServer(t, llmtest.Gemini, llmtest.Answer{Status: 307, Header: map[string]string{"Location": thief.URL}})
	env := map[string]string{"GOOGLE_GEMINI_BASE_URL": server.URL, "GEMINI_API_KEY": llmtest.Secret}
	endpoints, err := llm.NewEndpoints(func(name string) string { return env[name] })
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(client.CloseIdleConnections)
	p := gemini.New(gemini.Config{Endpoints: endpoints, Client: client})
	_, _, err = llmtest.TryAsk(t.Context(), p, llm.Request{Model: model, Messages: []perdure.Message{perdure.UserText("hi")}})
	if e := llmtest.WantError(t, err, llm.Unknown, false); e.Status != 307 || len(thief.Requests()) != 0 {
		t.Errorf("%d requests were redirected, the error is %+v", len(thief.Requests()), e)
	}
}
