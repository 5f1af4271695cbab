// Package connectiontest has a server whose responses a test defines, for tests of commands.
package connectiontest

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/perdure/perdure/client"
)

// Answering returns a client of a server that answers each request with the result of the function
// `answer`.
func Answering(t *testing.T, answer func(*http.Request) any) *client.Client {
	t.Helper()
	return AnsweringStatus(t, func(r *http.Request) (int, any) { return http.StatusOK, answer(r) })
}

// AnsweringStatus is like Answering, for a function that also returns the HTTP status.
func AnsweringStatus(t *testing.T, answer func(*http.Request) (int, any)) *client.Client {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status, body := answer(r)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		if err := json.NewEncoder(w).Encode(body); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	c, err := client.New(client.Options{BaseURL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	return c
}
