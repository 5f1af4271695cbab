package server

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/perdure/perdure"
)

// lookEvery is the minimum interval between two checks whether the certificate's files have
// changed. So a connection that begins more than lookEvery after the files have changed uses the
// new files.
const lookEvery = time.Second

// certificate is the TLS certificate of the server with its key, and the authorities that may sign
// client certificates. Their files are read again when they change.
type certificate struct {
	cert, key string
	// clients is the file with the authorities that may sign client certificates. If it is "", the
	// server requests no client certificate.
	clients string
	logger  *slog.Logger

	mu     sync.Mutex // guards the fields below
	looked time.Time
	seen   []fs.FileInfo
	config *tls.Config
}

// openCertificate reads the files of a certificate. Errors: invalid_argument.
func openCertificate(cert, key, clients string, logger *slog.Logger) (*certificate, error) {
	c := &certificate{cert: cert, key: key, clients: clients, logger: logger, looked: time.Now()}
	var err error
	if c.seen, err = c.stat(); err == nil {
		c.config, err = c.read()
	}
	if err != nil {
		return nil, &perdure.Error{Code: perdure.InvalidArgument, Message: "TLS", Err: err}
	}
	return c, nil
}

func (c *certificate) files() []string {
	if c.clients == "" {
		return []string{c.cert, c.key}
	}
	return []string{c.cert, c.key, c.clients}
}

func (c *certificate) stat() (all []fs.FileInfo, err error) {
	for _, name := range c.files() {
		one, err := os.Stat(name)
		if err != nil {
			return nil, fmt.Errorf("the file of the certificate cannot be read: %w", err)
		}
		all = append(all, one)
	}
	return all, nil
}

func (c *certificate) read() (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(c.cert, c.key)
	if err != nil {
		return nil, fmt.Errorf("the certificate %s with the key %s cannot be used: %w", c.cert, c.key, err)
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}}
	if c.clients == "" {
		return config, nil
	}
	raw, err := os.ReadFile(c.clients)
	if err != nil {
		return nil, fmt.Errorf("the authorities of clients cannot be read: %w", err)
	}
	config.ClientCAs, config.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
	if !config.ClientCAs.AppendCertsFromPEM(raw) {
		return nil, fmt.Errorf("%s holds no certificate in PEM", c.clients)
	}
	return config, nil
}

// now returns the TLS configuration that the current files describe. If the files are invalid, for
// example because someone is replacing them, now returns the previous configuration.
func (c *certificate) now() *tls.Config {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.looked) < lookEvery {
		return c.config
	}
	c.looked = time.Now()
	seen, err := c.stat()
	if err == nil && sameFiles(seen, c.seen) {
		return c.config
	}
	var renewed *tls.Config
	if err == nil {
		renewed, err = c.read()
	}
	if err != nil {
		c.logger.Error("the certificate was changed and cannot be used; the one before is served", "error", err)
		return c.config
	}
	c.logger.Info("the certificate was changed", "file", c.cert)
	c.seen, c.config = seen, renewed
	return c.config
}

func sameFiles(a, b []fs.FileInfo) bool {
	for i := range a {
		if !a[i].ModTime().Equal(b[i].ModTime()) || a[i].Size() != b[i].Size() || !os.SameFile(a[i], b[i]) {
			return false
		}
	}
	return true
}

// forListener returns the TLS configuration of a listener. The parameter `protocols` lists the
// application protocols that the listener negotiates (ALPN).
func (c *certificate) forListener(protocols ...string) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: protocols,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			config := c.now().Clone()
			config.NextProtos = protocols
			return config, nil
		},
		// Connections use only GetConfigForClient. GetCertificate is set for libraries that refuse a
		// configuration without a certificate.
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &c.now().Certificates[0], nil },
	}
}
