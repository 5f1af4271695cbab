package server

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/perdure/perdure"
)

// Socket returns the path of the Unix socket that serves the HTTP API.
func (s *Server) Socket() string { return filepath.Join(s.Data, "perdure.sock") }

// HTTPAddress returns the TCP address at which the server listens for HTTP. It is "" before Listen, and if
// the server does not listen for HTTP.
func (s *Server) HTTPAddress() string { return address(s.tcp) }

// HTTPScheme returns the scheme of the server's URLs: "https" if it serves HTTP over TLS, otherwise "http".
func (s *Server) HTTPScheme() string {
	if s.TLSCert != "" {
		return "https"
	}
	return "http"
}

// listensAt returns the address at which browsers of this machine reach the server; nil if it does
// not listen for HTTP.
func (s *Server) listensAt() *url.URL {
	at, err := netip.ParseAddrPort(s.HTTPAddress())
	if err != nil {
		return nil
	}
	if at.Addr().IsUnspecified() {
		at = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), at.Port())
	}
	return &url.URL{Scheme: s.HTTPScheme(), Host: at.String()}
}

// GRPCAddress returns the TCP address at which the server listens for gRPC. It is "" before Listen, and if
// the server does not listen for gRPC.
func (s *Server) GRPCAddress() string { return address(s.rpc) }

// OpsAddress returns the TCP address of the port for operators. It is "" before Listen, and if the server
// has no such port.
func (s *Server) OpsAddress() string { return address(s.ops) }

func address(l net.Listener) string {
	if l == nil {
		return ""
	}
	return l.Addr().String()
}

// Listen binds all addresses of the server. Errors: invalid_argument for an address at which the server may
// not listen, conflict for an address that another process uses.
func (s *Server) Listen() error {
	for _, addr := range []string{s.Config.HTTPAddr, s.Config.GRPCAddr} {
		if err := s.allowed(addr); err != nil {
			return err
		}
	}
	var err error
	if s.unix, err = listenUnix(s.Socket()); err != nil {
		return err
	}
	if s.tcp, err = listen(s.Config.HTTPAddr, "--addr"); err != nil {
		return err
	}
	if s.ops, err = listen(s.OpsAddr, "--ops-addr"); err != nil {
		return err
	}
	if s.rpc, err = listen(s.Config.GRPCAddr, "--grpc-addr"); err != nil {
		return err
	}
	s.warnOfPlainText()
	return nil
}

// warnOfPlainText logs a warning for addresses that other machines can reach and that carry keys in
// plain text. It is only a warning, because plain text can be intended behind a proxy or in a
// private network.
func (s *Server) warnOfPlainText() {
	if s.TLSCert != "" {
		return
	}
	for what, addr := range map[string]string{"HTTP": s.Config.HTTPAddr, "gRPC": s.Config.GRPCAddr} {
		if host, _, err := net.SplitHostPort(addr); err == nil && !isLoopback(host) {
			s.Logger.Warn("API keys come over the network in plain text; give --tls-cert and --tls-key, or have a proxy in front that does TLS", "for", what, "addr", addr)
		}
	}
}

// allowed returns an error for an address that other machines can reach: in dev mode always,
// otherwise until an API key exists.
func (s *Server) allowed(addr string) error {
	if addr == "" {
		return nil
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return perdure.FieldErrorf("addr", "%q is not host:port", addr)
	}
	if isLoopback(host) {
		return nil
	}
	if s.Dev {
		return perdure.FieldErrorf("addr", "dev mode serves loopback only, not %s; use perdure server with keys for other addresses", addr)
	}
	any, err := s.store.AnyKey(context.Background())
	if err != nil {
		return err
	}
	if !any {
		return perdure.FieldErrorf("addr", "%s can be reached from elsewhere, and there is no API key yet; make one first: perdure keys create --role admin NAME", addr)
	}
	return nil
}

func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// hosts returns the values of the request header Host that the server accepts in dev mode.
func (s *Server) hosts(public *url.URL) []string {
	if !s.Dev {
		return nil
	}
	hosts := []string{"localhost", "127.0.0.1", "[::1]", "::1"}
	if public != nil {
		hosts = append(hosts, public.Host)
	}
	return hosts
}

// ParsePublicURL parses the value of Config.PublicURL. It returns nil for "". Errors:
// invalid_argument.
func ParsePublicURL(text string) (*url.URL, error) {
	if text == "" {
		return nil, nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || !validPort(u) ||
		u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		return nil, perdure.FieldErrorf("public-url", "is not scheme://host[:port]; give the address that browsers open, without a path, like https://perdure.example.com")
	}
	return &url.URL{Scheme: u.Scheme, Host: strings.ToLower(u.Host)}, nil
}

// validPort reports whether a URL has no port or a port from 1 to 65535.
func validPort(u *url.URL) bool {
	if u.Port() == "" {
		return !strings.HasSuffix(u.Host, ":")
	}
	n, err := strconv.ParseUint(u.Port(), 10, 16)
	return err == nil && n > 0
}

// vanished is the maximum time for which a client may leave sent data unacknowledged. After that
// time, the system closes the connection.
const vanished = 45 * time.Second

func listen(addr, flag string) (net.Listener, error) {
	if addr == "" {
		return nil, nil
	}
	how := net.ListenConfig{Control: closeUnacknowledged, KeepAliveConfig: net.KeepAliveConfig{
		Enable: true, Idle: vanished / 3, Interval: vanished / 3, Count: 2,
	}}
	l, err := how.Listen(context.Background(), "tcp", addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, perdure.Errorf(perdure.Conflict, "the address %s is in use by another program; end that, or choose another with %s", addr, flag)
	}
	if err != nil {
		return nil, perdure.FieldErrorf("addr", "cannot listen on %s: %v", addr, err)
	}
	return l, nil
}

// listenUnix binds the Unix socket at path. It first removes a socket file that an earlier server has left.
// That server has ended, because this process has the lock of the data directory.
func listenUnix(path string) (net.Listener, error) {
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, &perdure.Error{Code: perdure.InvalidArgument, Message: "cannot make the socket " + path + " (its path may be too long; choose a shorter --data)", Err: err}
	}
	return l, os.Chmod(path, 0o600)
}
