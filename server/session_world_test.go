package server_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

// browser is a signed-in browser: the session's id, its cookie, and the half of the secret that the
// page holds.
type browser struct{ id, cookie, half string }

// headers returns the headers of the browser's requests. An empty cookie or half is left out.
func (b browser) headers() []string {
	var all []string
	if b.cookie != "" {
		all = append(all, "Cookie", b.cookie)
	}
	if b.half != "" {
		all = append(all, "Perdure-Session", b.half)
	}
	return all
}

func (w *world) signIn(key string) browser {
	w.Helper()
	res, err := http.Post("http://"+w.HTTPAddress()+"/api/login", "application/json", strings.NewReader(`{"key":"`+key+`"}`))
	w.must(err)
	defer res.Body.Close()
	var reply struct{ SessionID, Session string }
	w.must(json.NewDecoder(res.Body).Decode(&reply))
	if res.StatusCode != http.StatusOK || len(res.Cookies()) != 1 {
		w.Fatalf("the sign-in is answered %s with %v", res.Status, res.Cookies())
	}
	cookie := res.Cookies()[0]
	return browser{reply.SessionID, cookie.Name + "=" + cookie.Value, reply.Session}
}

// shiftedClock is a clock that can be advanced.
type shiftedClock struct{ by atomic.Int64 }

func (s *shiftedClock) Now() time.Time { return time.Now().Add(time.Duration(s.by.Load())) }
