package e2e

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"io"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/perdure/perdure/llm/llmtest"
)

// canaries are secrets that a test passes to programs, by kind. The test checks that they occur only
// in their intended places.
type canaries struct {
	*testing.T
	secrets map[string]string
}

// canary is the prefix of all secrets that canaries.one creates.
const canary = "canary-"

func newCanaries(t *testing.T) canaries { return canaries{t, map[string]string{}} }

// one creates a secret of the named kind and returns it.
func (c canaries) one(what string) string {
	c.Helper()
	secret := canary + rand.Text()
	c.secrets[what] = secret
	return secret
}

// absent fails the test if raw contains one of the secrets, in plain or encoded form. The parameter
// `where` names the source of raw in the test's message.
func (c canaries) absent(where string, raw []byte) {
	c.Helper()
	for what, secret := range c.secrets {
		for _, form := range []string{
			secret, hex.EncodeToString([]byte(secret)),
			strings.TrimRight(base64.StdEncoding.EncodeToString([]byte(secret)), "="), base64.RawURLEncoding.EncodeToString([]byte(secret)),
		} {
			if at := bytes.Index(raw, []byte(form)); at >= 0 {
				c.Errorf("%s holds %s: ...%q", where, what, raw[max(0, at-80):min(len(raw), at+len(form)+20)])
				break
			}
		}
		if !strings.HasPrefix(secret, canary) {
			continue
		}
		if echo := llmtest.Tells(string(raw), secret); echo != "" {
			c.Errorf("%s holds %s as %s", where, what, echo)
		}
	}
}

// absentBelow checks that no file below the folder contains a secret. It skips files with the names
// in the parameter `but`.
func (c canaries) absentBelow(folder string, but ...string) {
	c.Helper()
	files := 0
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		for _, name := range but {
			if d.Name() == name {
				return nil
			}
		}
		raw, err := os.ReadFile(path)
		c.absent(path, raw)
		files++
		return err
	})
	if err != nil || files == 0 {
		c.Errorf("%d files were looked into: %v", files, err)
	}
}

// absentInDatabase checks that no row of any table contains a secret.
func (c canaries) absentInDatabase(url string) {
	c.Helper()
	ctx := context.WithoutCancel(c.Context())
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		c.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	rows, err := conn.Query(ctx, "SELECT table_name::text FROM information_schema.tables WHERE table_schema = 'public' AND table_type = 'BASE TABLE'")
	if err != nil {
		c.Fatal(err)
	}
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(tables) < 10 {
		c.Fatalf("the tables are %v, %v", tables, err)
	}
	for _, table := range tables {
		var all bytes.Buffer
		if _, err := conn.PgConn().CopyTo(ctx, &all, "COPY "+table+" TO STDOUT (FORMAT binary)"); err != nil {
			c.Fatal(err)
		}
		c.absent("the table "+table, all.Bytes())
	}
}

// certificate writes a TLS certificate for the loopback addresses, and its private key. The key becomes one
// of the secrets.
func (c canaries) certificate(dir string) (cert, key string, trust *x509.CertPool) {
	c.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		c.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		c.Fatal(err)
	}
	rawKey, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		c.Fatal(err)
	}
	scalar, err := private.Bytes()
	if err != nil {
		c.Fatal(err)
	}
	c.secrets["the TLS key"] = string(scalar)
	text := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: rawKey})
	c.secrets["the TLS key's PEM"] = strings.Split(string(text), "\n")[1]
	cert, key, trust = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"), x509.NewCertPool()
	for path, content := range map[string][]byte{cert: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw}), key: text} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			c.Fatal(err)
		}
	}
	parsed, err := x509.ParseCertificate(raw)
	if err != nil {
		c.Fatal(err)
	}
	trust.AddCert(parsed)
	return cert, key, trust
}

// readSome reads the body until it ends or fails. A failure is ignored, because a stream may break.
func readSome(body io.Reader) []byte {
	raw, _ := io.ReadAll(body) // the bytes before an error are sufficient
	return raw
}
