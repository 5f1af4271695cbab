package remote

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"log/slog"
	"math/big"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/resolver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func listen(t *testing.T, network, addr string) net.Listener {
	t.Helper()
	listener, err := net.Listen(network, addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	return listener
}

// serve runs a gRPC server without methods on the listener until the end of the test.
func serve(t *testing.T, listener net.Listener, options ...grpc.ServerOption) {
	t.Helper()
	server := grpc.NewServer(options...)
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
}

func options(addr string) Options {
	return Options{Addr: addr, Token: "key", Logger: slog.New(slog.DiscardHandler)}
}

func TestDialSaysWhatIsMissing(t *testing.T) {
	for field, o := range map[string]Options{"addr": {Token: "key"}, "token": {Addr: "127.0.0.1:1"}} {
		_, err := Dial(t.Context(), o)
		var coded *perdure.Error
		if !errors.As(err, &coded) || coded.Code != perdure.InvalidArgument || coded.Fields[0].Location != field {
			t.Errorf("without %s: %v", field, err)
		}
	}
}

func TestAServerThatIsNotThereIsNamed(t *testing.T) {
	listener := listen(t, "tcp", "127.0.0.1:0")
	addr := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	_, err := Dial(t.Context(), options(addr))
	var refused *net.OpError
	if !perdure.IsCode(err, perdure.Unavailable) || !strings.Contains(err.Error(), addr) || !strings.Contains(err.Error(), "start one") {
		t.Errorf("the error is %v", err)
	}
	if !errors.As(err, &refused) {
		t.Errorf("the cause is lost in %v", err)
	}
}

func TestAServerThatDoesNotAnswerIsNamed(t *testing.T) {
	listener := listen(t, "tcp", "127.0.0.1:0")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := Dial(ctx, options(listener.Addr().String()))
	if !perdure.IsCode(err, perdure.Unavailable) || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), listener.Addr().String()) {
		t.Errorf("the error is %v", err)
	}
}

func TestAnotherServerIsDistinguished(t *testing.T) {
	listener := listen(t, "tcp", "127.0.0.1:0")
	serve(t, listener)
	c, err := Dial(t.Context(), options(listener.Addr().String()))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Register(t.Context(), perdure.Registration{}); !perdure.IsCode(err, perdure.Internal) || !strings.Contains(err.Error(), "no Perdure server") {
		t.Errorf("the error is %v", err)
	}
}

func TestDialOverASocketFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	serve(t, listen(t, "unix", path))
	c, err := Dial(t.Context(), options("unix:"+path))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if err := c.Close(); err != nil {
		t.Errorf("a second Close gives %v", err)
	}
}

func TestTLS(t *testing.T) {
	cert, pool := certificate(t)
	listener := listen(t, "tcp", "127.0.0.1:0")
	serve(t, listener, grpc.Creds(credentials.NewTLS(&tls.Config{Certificates: []tls.Certificate{cert}})))
	o := options(listener.Addr().String())
	o.TLS = &tls.Config{RootCAs: pool}
	c, err := Dial(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	o.TLS = &tls.Config{RootCAs: x509.NewCertPool()}
	var unknown *tls.CertificateVerificationError
	if _, err := Dial(t.Context(), o); !errors.As(err, &unknown) {
		t.Errorf("a certificate of no known authority gives %v", err)
	}
	o.TLS = nil
	if _, err := Dial(t.Context(), o); !perdure.IsCode(err, perdure.Unavailable) || !strings.Contains(err.Error(), "TLS") {
		t.Errorf("plain text to a server with TLS gives %v", err)
	}
}

// certificate returns a self-signed certificate for 127.0.0.1, and a pool that contains it.
func certificate(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

// TestDialFindsWhoIsThere checks that Dial connects to any address that can be reached, whether the
// addresses are in a list or belong to one host name. If none can be reached, the error is
// unavailable and names the configured address.
func TestDialFindsWhoIsThere(t *testing.T) {
	there := listen(t, "tcp", "127.0.0.1:0")
	serve(t, there)
	gone := listen(t, "tcp", "127.0.0.1:0")
	if err := gone.Close(); err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(there.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	for _, addr := range []string{
		gone.Addr().String() + "," + there.Addr().String(),
		"127.0.0.2:" + port + ", localhost:" + port,
		"nobody.invalid:1," + there.Addr().String(),
	} {
		for range 5 { // more than once, because the order is random
			c, err := Dial(t.Context(), options(addr))
			if err != nil {
				t.Fatalf("%s: %v", addr, err)
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	for _, addr := range []string{gone.Addr().String() + ",127.0.0.2:" + port, "nobody.invalid:1"} {
		if _, err := Dial(t.Context(), options(addr)); !perdure.IsCode(err, perdure.Unavailable) || !strings.Contains(err.Error(), addr) {
			t.Errorf("%s gives %v", addr, err)
		}
	}
	for _, addr := range []string{"127.0.0.1:1,", "127.0.0.1:1,host"} {
		if _, err := Dial(t.Context(), options(addr)); !perdure.IsCode(err, perdure.InvalidArgument) {
			t.Errorf("%s gives %v", addr, err)
		}
	}
}

// TestClientsAreSpread checks that 200 clients are spread over three servers. The order in which
// one client uses the addresses does not change.
func TestClientsAreSpread(t *testing.T) {
	first := map[string]int{}
	for range 200 {
		at, err := parseAddresses("127.0.0.1:1,127.0.0.1:2,127.0.0.1:3,127.0.0.1:2", &lastError{})
		if err != nil {
			t.Fatal(err)
		}
		all, err := at.lookup(t.Context())
		again, errAgain := at.lookup(t.Context())
		if err != nil || errAgain != nil || len(all) != 3 || !slices.Equal(addressesOf(all), addressesOf(again)) || !at.several() {
			t.Fatalf("the addresses are %v, then %v", all, again)
		}
		first[all[0].Addr]++
	}
	for addr, n := range first {
		if len(first) != 3 || n < 20 {
			t.Errorf("%d of 200 begin at %s of %d", n, addr, len(first))
		}
	}
}

func addressesOf(all []resolver.Address) (list []string) {
	for _, a := range all {
		list = append(list, a.Addr)
	}
	return list
}

func TestPrivateAddresses(t *testing.T) {
	for addr, want := range map[string]bool{
		"127.0.0.1:9090": true, "[::1]:9090": true, "localhost:9090": true, "unix:/run/perdure": true,
		"10.0.0.7:9090": false, "perdure.example:9090": false, "127.0.0.1:9090,10.0.0.7:9090": false, "localhost:9090, [::1]:9091": true,
	} {
		at, err := parseAddresses(addr, &lastError{})
		if err != nil || at.private() != want {
			t.Errorf("%s is private: %v, %v", addr, at.private(), err)
		}
	}
}
