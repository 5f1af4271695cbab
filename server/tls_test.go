package server_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/server"
)

// certificate writes a certificate for 127.0.0.1 and its key, and returns the pool that trusts it.
func certificate(t *testing.T) (cert, key string, trust *x509.CertPool) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	rawKey, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, kind string, raw []byte) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: raw}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	parsed, err := x509.ParseCertificate(raw)
	if err != nil {
		t.Fatal(err)
	}
	trust = x509.NewCertPool()
	trust.AddCert(parsed)
	return write("cert.pem", "CERTIFICATE", raw), write("key.pem", "PRIVATE KEY", rawKey), trust
}

// over returns a client that speaks only the given version of HTTP.
func over(t *testing.T, major int, trust *x509.CertPool) *http.Client {
	t.Helper()
	var only http.Protocols
	only.SetHTTP1(major == 1)
	only.SetHTTP2(major == 2)
	web := &http.Transport{Protocols: &only, TLSClientConfig: &tls.Config{RootCAs: trust}}
	t.Cleanup(web.CloseIdleConnections)
	return &http.Client{Transport: web}
}

// TestHTTPOverTLS checks that a server with a certificate serves the API over TLS, with HTTP/1 and
// HTTP/2. A client of the Unix socket needs no certificate.
func TestHTTPOverTLS(t *testing.T) {
	cert, key, trust := certificate(t)
	s := openServer(t, server.Config{HTTPAddr: "127.0.0.1:0", TLSCert: cert, TLSKey: key})
	id := begun(t, s)
	if s.HTTPScheme() != "https" {
		t.Errorf("the scheme is %s", s.HTTPScheme())
	}
	for _, major := range []int{1, 2} {
		res := stream(t, s, over(t, major, trust), id)
		if res.ProtoMajor != major || res.StatusCode != 200 || res.TLS == nil {
			t.Errorf("asked for over HTTP/%d: %s over %s", major, res.Status, res.Proto)
		}
		first := make([]byte, 3)
		if _, err := io.ReadFull(res.Body, first); err != nil || string(first) != "id:" {
			t.Errorf("over HTTP/%d the stream begins with %q, %v", major, first, err)
		}
	}
}

func TestCertificateThatCannotBeUsed(t *testing.T) {
	cert, _, _ := certificate(t)
	_, other, _ := certificate(t)
	if _, err := server.Open(t.Context(), server.Config{Data: t.TempDir(), HTTPAddr: "127.0.0.1:0", TLSCert: cert, TLSKey: other}); !perdure.IsCode(err, perdure.InvalidArgument) {
		t.Errorf("with another certificate's key: %v", err)
	}
}

// begun starts an execution that no worker runs.
func begun(t *testing.T, s *server.Server) uuid.UUID {
	t.Helper()
	worker := uuid.New()
	_, err := s.Dispatch(server.DevOrg).Register(t.Context(), perdure.Registration{WorkerID: worker, Agents: []perdure.KindSpec{{Kind: "agent"}}})
	if err != nil {
		t.Fatal(err)
	}
	c := client.Socket(s.Socket(), s.Token())
	defer c.Close()
	x, err := c.Start(t.Context(), client.StartRequest{Kind: "agent"})
	if err != nil {
		t.Fatal(err)
	}
	return x.ID
}

func stream(t *testing.T, s *server.Server, web *http.Client, id uuid.UUID) *http.Response {
	t.Helper()
	url := s.HTTPScheme() + "://" + s.HTTPAddress() + "/api/orgs/default/agent-executions/" + id.String() + "/stream"
	req, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.Token())
	res, err := web.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = res.Body.Close() })
	return res
}

// TestServerStopsWithOpenStreams checks that a server that stops resets its open streams and does not
// wait for their readers.
func TestServerStopsWithOpenStreams(t *testing.T) {
	data := t.TempDir()
	s, err := server.Open(t.Context(), server.Config{Data: data, HTTPAddr: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Listen(); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	id := begun(t, s)
	var open []*http.Response
	for range 20 {
		open = append(open, stream(t, s, over(t, 1, nil), id))
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	for _, res := range open {
		if _, err := io.Copy(io.Discard, res.Body); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("a stream ended with %v", err)
		}
	}
}

// TestCookiesOverTLS checks that a session's cookie over TLS has the prefix __Host- and the attributes
// Secure, HttpOnly and SameSite=Strict. The cookie works only together with the half of the secret that
// the page holds.
func TestCookiesOverTLS(t *testing.T) {
	cert, key, trust := certificate(t)
	s := openServer(t, server.Config{HTTPAddr: "127.0.0.1:0", TLSCert: cert, TLSKey: key})
	base := "https://" + s.HTTPAddress()
	_, port, err := net.SplitHostPort(s.HTTPAddress())
	if err != nil {
		t.Fatal(err)
	}
	web := over(t, 1, trust)
	res, err := web.Post(base+"/api/login", "application/json", strings.NewReader(`{"key":"`+s.Token()+`"}`))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var reply struct{ Session string }
	if err := json.NewDecoder(res.Body).Decode(&reply); err != nil || len(res.Cookies()) != 1 {
		t.Fatalf("the sign-in is answered %s with %v (%v)", res.Status, res.Cookies(), err)
	}
	cookie := res.Cookies()[0]
	if cookie.Name != "__Host-perdure_"+port || !cookie.Secure || !cookie.HttpOnly || cookie.Domain != "" || cookie.Path != "/" || cookie.SameSite != http.SameSiteStrictMode {
		t.Errorf("the cookie is %s", cookie)
	}
	for half, want := range map[string]int{reply.Session: http.StatusOK, "": http.StatusUnauthorized} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+"/api/orgs/default/sessions", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		req.AddCookie(cookie)
		req.Header.Set("Perdure-Session", half)
		res, err := web.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if err := res.Body.Close(); err != nil || res.StatusCode != want {
			t.Errorf("with the cookie and the half %q: %s, want %d", half, res.Status, want)
		}
	}
}
