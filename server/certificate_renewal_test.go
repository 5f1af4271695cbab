package server_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/server"
	"github.com/perdure/perdure/worker/remote"
)

// authority is a certificate authority. It signs certificates for 127.0.0.1 and for workers.
type authority struct {
	testing.TB
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pool *x509.CertPool
}

func newAuthority(t testing.TB) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	a := &authority{TB: t, key: key, pool: x509.NewCertPool()}
	if a.cert, err = x509.ParseCertificate(raw); err != nil {
		t.Fatal(err)
	}
	a.pool.AddCert(a.cert)
	return a
}

func (a *authority) file() string {
	return a.write(filepath.Join(a.TempDir(), "ca.pem"), "CERTIFICATE", a.cert.Raw)
}

func (a *authority) write(path, kind string, raw []byte) string {
	a.Helper()
	next := path + ".new" // as renewal programs do
	if err := os.WriteFile(next, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: raw}), 0o600); err != nil {
		a.Fatal(err)
	}
	if err := os.Rename(next, path); err != nil {
		a.Fatal(err)
	}
	return path
}

// issue writes a certificate with the given serial number, and its key, to the files at the paths
// `cert` and `key`.
func (a *authority) issue(serial int64, cert, key string) {
	a.Helper()
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, a.cert, &own.PublicKey, a.key)
	if err != nil {
		a.Fatal(err)
	}
	rawKey, err := x509.MarshalPKCS8PrivateKey(own)
	if err != nil {
		a.Fatal(err)
	}
	a.write(cert, "CERTIFICATE", raw)
	a.write(key, "PRIVATE KEY", rawKey)
}

// served returns the serial number of the certificate that the server at an address presents.
func (a *authority) served(addr string, change ...func(*tls.Config)) (int64, error) {
	a.Helper()
	c := &tls.Config{RootCAs: a.pool, NextProtos: []string{"h2"}}
	for _, f := range change {
		f(c)
	}
	conn, err := tls.Dial("tcp", addr, c)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	return conn.ConnectionState().PeerCertificates[0].SerialNumber.Int64(), nil
}

// TestRenewedCertificateIsServed checks that the ports for HTTP and gRPC serve a renewed
// certificate without a restart. If the new files are invalid, the ports continue to serve the
// previous certificate.
func TestRenewedCertificateIsServed(t *testing.T) {
	longtest.Skip(t, "seconds")
	a, dir := newAuthority(t), t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	a.issue(7, cert, key)
	s := openServer(t, server.Config{HTTPAddr: "127.0.0.1:0", GRPCAddr: "127.0.0.1:0", TLSCert: cert, TLSKey: key})
	until := func(want int64) {
		t.Helper()
		for _, addr := range []string{s.HTTPAddress(), s.GRPCAddress()} {
			for deadline := time.Now().Add(20 * time.Second); ; {
				got, err := a.served(addr)
				if err != nil {
					t.Fatal(err)
				}
				if got == want {
					break
				}
				if time.Now().After(deadline) {
					t.Fatalf("%s still serves the certificate %d, not %d", addr, got, want)
				}
			}
		}
	}
	until(7)
	a.issue(8, cert, key)
	until(8)
	if err := os.WriteFile(key, []byte("half of a"), 0o600); err != nil {
		t.Fatal(err)
	}
	until(8)
	a.issue(9, cert, key)
	until(9)
}

// TestOldTLSIsRefused checks that the ports for HTTP and gRPC refuse TLS versions below 1.2 and accept
// 1.2 and 1.3.
func TestOldTLSIsRefused(t *testing.T) {
	a, dir := newAuthority(t), t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	a.issue(7, cert, key)
	s := openServer(t, server.Config{HTTPAddr: "127.0.0.1:0", GRPCAddr: "127.0.0.1:0", TLSCert: cert, TLSKey: key})
	for _, addr := range []string{s.HTTPAddress(), s.GRPCAddress()} {
		for version, want := range map[uint16]bool{tls.VersionTLS10: false, tls.VersionTLS11: false, tls.VersionTLS12: true, tls.VersionTLS13: true} {
			_, err := a.served(addr, func(c *tls.Config) { c.MinVersion, c.MaxVersion = version, version })
			if (err == nil) != want {
				t.Errorf("%s over %s: %v", addr, tls.VersionName(version), err)
			}
		}
	}
}

// TestWorkersOverTLS checks that workers can connect over TLS with a valid API key. If ClientCA is
// set, a worker also needs a certificate that ClientCA has signed.
func TestWorkersOverTLS(t *testing.T) {
	longtest.Skip(t, "seconds")
	a, other, dir := newAuthority(t), newAuthority(t), t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	a.issue(7, cert, key)
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	other.issue(9, filepath.Join(dir, "other.pem"), filepath.Join(dir, "other-key.pem"))
	strange, err := tls.LoadX509KeyPair(filepath.Join(dir, "other.pem"), filepath.Join(dir, "other-key.pem"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name    string
		ca      string
		config  *tls.Config
		token   string
		refused bool
	}{
		{name: "plain text", refused: true},
		{name: "an unknown authority", config: &tls.Config{RootCAs: other.pool}, refused: true},
		{name: "TLS", config: &tls.Config{RootCAs: a.pool}},
		{name: "TLS with a wrong key", config: &tls.Config{RootCAs: a.pool}, token: "wrong", refused: true},
		{name: "no certificate", ca: a.file(), config: &tls.Config{RootCAs: a.pool}, refused: true},
		{name: "another's certificate", ca: a.file(), config: &tls.Config{RootCAs: a.pool, Certificates: []tls.Certificate{strange}}, refused: true},
		{name: "its certificate", ca: a.file(), config: &tls.Config{RootCAs: a.pool, Certificates: []tls.Certificate{pair}}},
		{name: "its certificate and a wrong key", ca: a.file(), config: &tls.Config{RootCAs: a.pool, Certificates: []tls.Certificate{pair}}, token: "wrong", refused: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := openServer(t, server.Config{HTTPAddr: "127.0.0.1:0", GRPCAddr: "127.0.0.1:0", TLSCert: cert, TLSKey: key, ClientCA: c.ca})
			if c.token == "" {
				c.token = s.Token()
			}
			err := registerOver(t, remote.Options{Addr: s.GRPCAddress(), Token: c.token, TLS: c.config})
			if (err != nil) != c.refused {
				t.Errorf("the worker's registration: %v", err)
			}
		})
	}
}

func registerOver(t *testing.T, o remote.Options) error {
	t.Helper()
	d, err := remote.Dial(t.Context(), o)
	if err != nil {
		return err
	}
	defer d.Close()
	_, err = d.Register(t.Context(), perdure.Registration{WorkerID: uuid.New(), Agents: []perdure.KindSpec{{Kind: "agent"}}})
	return err
}

// TestAuthoritiesNeedTLS checks that a server with ClientCA but without its own certificate does
// not open.
func TestAuthoritiesNeedTLS(t *testing.T) {
	_, err := server.Open(t.Context(), server.Config{Data: t.TempDir(), ClientCA: newAuthority(t).file()})
	if !perdure.IsCode(err, perdure.InvalidArgument) {
		t.Errorf("the server opens with %v", err)
	}
}
