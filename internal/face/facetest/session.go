package facetest

import (
	"encoding/json"
	"strings"

	"github.com/google/uuid"
)

// Browser has what a browser stores of the session with which it is signed in.
type Browser struct {
	ID           uuid.UUID
	Cookie, Half string
}

// Headers returns the request headers that contain the session in place of a key.
func (b Browser) Headers(more ...string) []string {
	return append([]string{"Authorization", "", "Cookie", b.Cookie, "Perdure-Session", b.Half}, more...)
}

// Protocols returns the WebSocket subprotocols that the browser offers. One of them contains the
// half of the session's secret that the web page stores.
func (b Browser) Protocols() string { return "perdure, perdure.session." + b.Half }

// Port returns the server's port.
func (h *Server) Port() string { return h.URL[strings.LastIndex(h.URL, ":")+1:] }

// SignIn signs in with a key, which creates a session.
func (h *Server) SignIn(key string, headers ...string) Browser {
	h.T.Helper()
	r := h.Call("POST", "./api/login", `{"key":"`+key+`"}`, append([]string{"Authorization", "", "User-Agent", "Test 1"}, headers...)...)
	var reply struct {
		SessionID uuid.UUID
		Session   string
	}
	if err := json.Unmarshal(r.Want(200, nil).Body, &reply); err != nil {
		h.T.Fatal(err)
	}
	cookie, _, _ := strings.Cut(r.Header.Get("Set-Cookie"), ";")
	return Browser{reply.SessionID, cookie, reply.Session}
}
