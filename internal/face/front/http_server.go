package front

import (
	"log"
	"net/http"
	"time"
)

// h2Streams is the largest number of concurrent requests on one HTTP/2 connection, including event
// streams.
const h2Streams = 1000

// NewServer creates a server for the handler: HTTP/1.1, and HTTP/2 over TLS and, by prior
// knowledge, in plain text.
func NewServer(h http.Handler, errors *log.Logger) *http.Server {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	return &http.Server{
		Handler: h, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, ErrorLog: errors,
		Protocols: &protocols,
		// The server pings a silent connection, and closes it if the client does not answer the
		// ping.
		HTTP2: &http.HTTP2Config{MaxConcurrentStreams: h2Streams, SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second},
	}
}
