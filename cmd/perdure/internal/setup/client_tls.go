package setup

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"os"

	"github.com/spf13/cobra"
)

// ClientTLS has the values of the flags for TLS on a worker's connection to its server.
type ClientTLS struct {
	on            bool
	ca, cert, key string
}

// Flags adds the flags to a command.
func (s *ClientTLS) Flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&s.on, "tls", false, "secure the connection; the machine's authorities are trusted")
	f.StringVar(&s.ca, "tls-ca", "", "authorities (PEM) to trust in place of the machine's; secures the connection")
	f.StringVar(&s.cert, "tls-cert", "", "certificate (PEM) to show to a server that wants one (--tls-client-ca)")
	f.StringVar(&s.key, "tls-key", "", "key (PEM) of --tls-cert")
}

// Config returns the TLS configuration that the flags describe; nil for a connection in plain text. Errors:
// UsageError.
func (s *ClientTLS) Config() (*tls.Config, error) {
	if (s.cert == "") != (s.key == "") {
		return nil, NewUsageError("--tls-cert and --tls-key go together", "give both, or neither")
	}
	if !s.on && s.ca == "" && s.cert == "" {
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if s.ca != "" {
		raw, err := os.ReadFile(s.ca)
		if err != nil {
			return nil, NewFileError("--tls-ca", err, "give a file of certificates in PEM")
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(raw) {
			return nil, NewUsageError("--tls-ca "+s.ca+" holds no certificate", "give a file of certificates in PEM")
		}
	}
	if s.cert != "" {
		if _, err := tls.LoadX509KeyPair(s.cert, s.key); err != nil {
			return nil, NewFileError("--tls-cert and --tls-key", err, "give a certificate and its key in PEM")
		}
		// The certificate's files are read for each connection, so that a renewed certificate is used.
		c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			pair, err := tls.LoadX509KeyPair(s.cert, s.key)
			return &pair, err
		}
	}
	return c, nil
}

// TrustCertificate returns the configuration for a server on this machine whose certificate is in
// the file. It accepts that certificate under the certificate's own first DNS name. Errors:
// UsageError.
func TrustCertificate(file string) (*tls.Config, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, NewFileError("the certificate of the server here cannot be read", err, "name the server with --server, and --tls")
	}
	block, _ := pem.Decode(raw)
	if block == nil {
		return nil, NewUsageError(file+" holds no certificate", "")
	}
	leaf, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, NewUsageError(file+": "+err.Error(), "")
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: x509.NewCertPool()}
	c.RootCAs.AddCert(leaf)
	if len(leaf.DNSNames) > 0 {
		c.ServerName = leaf.DNSNames[0]
	}
	return c, nil
}
