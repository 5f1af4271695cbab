// Package remote lets a worker speak to a server over gRPC: its Client is the
// perdure.Dispatch of another process. What it answers is what the same call
// would answer inside the server's process; contents that travelled by
// reference are filled in.
package remote

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	perdurev1 "github.com/perdure/perdure/api/perdure/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
)

// maxMessage is the most bytes of one message, as on the server.
const maxMessage = 4 << 20

// Options say where the server is and who calls.
type Options struct {
	// Addr is the server's gRPC address: host:port, or unix:PATH.
	Addr string
	// Token is an API key of the role worker or admin.
	Token string
	// TLS secures the connection; nil is plain text, which is for loopback and
	// private networks.
	TLS *tls.Config
	// WorkerID stands in for calls that name no worker.
	WorkerID uuid.UUID
	// Logger hears of retries; nil is slog.Default.
	Logger *slog.Logger
}

// Client is a connection to a server. It is safe for concurrent use.
type Client struct {
	o      Options
	conn   *grpc.ClientConn
	agents perdurev1.AgentDispatchClient
	worker perdurev1.WorkerDispatchClient
	frames frameStream
	closed sync.Once

	again    chan struct{} // holds one
	stop     context.CancelFunc
	watching sync.WaitGroup
}

var _ perdure.Dispatch = (*Client)(nil)

// Dial connects, and returns once the server is there. Errors: invalid_argument,
// unavailable (with the address, and what to look at), ctx's. A connection that
// breaks later comes back by itself.
func Dial(ctx context.Context, o Options) (*Client, error) {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Addr == "" {
		return nil, perdure.FieldErrorf("addr", "the server's gRPC address is missing; give it as host:port")
	}
	if o.Token == "" {
		return nil, perdure.FieldErrorf("token", "the API key is missing; give one of the role worker")
	}
	if o.TLS == nil && !private(o.Addr) {
		o.Logger.Warn("the API key goes over the network in plain text; use TLS", "addr", o.Addr)
	}
	var last lastError
	conn, err := grpc.NewClient("passthrough:///"+o.Addr, dialOptions(o, &last)...)
	if err != nil {
		return nil, perdure.FieldErrorf("addr", "%q cannot be dialled: %v", o.Addr, err)
	}
	if err := connect(ctx, conn, o.Addr, &last); err != nil {
		_ = conn.Close()
		return nil, err
	}
	c := &Client{
		o: o, conn: conn,
		agents: perdurev1.NewAgentDispatchClient(conn),
		worker: perdurev1.NewWorkerDispatchClient(conn),
	}
	c.again = make(chan struct{}, 1)
	watched, stop := context.WithCancel(context.WithoutCancel(ctx))
	c.stop = stop
	c.watching.Go(func() { c.watch(watched) })
	c.frames.open = c.worker.StreamData
	c.frames.init()
	return c, nil
}

func dialOptions(o Options, last *lastError) []grpc.DialOption {
	secure := insecure.NewCredentials()
	if o.TLS != nil {
		secure = credentials.NewTLS(o.TLS)
	}
	options := []grpc.DialOption{
		grpc.WithTransportCredentials(last.watch(secure)),
		grpc.WithContextDialer(last.dial),
		grpc.WithPerRPCCredentials(bearer(o.Token)),
		grpc.WithUserAgent("perdure-worker"),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage), grpc.MaxCallSendMsgSize(maxMessage)),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 15 * time.Second, Timeout: 10 * time.Second, PermitWithoutStream: true}),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: reconnect, MinConnectTimeout: 5 * time.Second}),
	}
	if strings.HasPrefix(o.Addr, unixPrefix) {
		options = append(options, grpc.WithAuthority("localhost"))
	}
	return options
}

const unixPrefix = "unix:"

// private tells whether what is sent to addr stays on this machine.
func private(addr string) bool {
	if strings.HasPrefix(addr, unixPrefix) {
		return true
	}
	host, _, _ := net.SplitHostPort(addr)
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// connect waits until the connection stands, or the first try has failed.
func connect(ctx context.Context, conn *grpc.ClientConn, addr string, last *lastError) error {
	conn.Connect()
	for {
		state := conn.GetState()
		switch state {
		case connectivity.Ready:
			return nil
		case connectivity.TransientFailure, connectivity.Shutdown:
			return unreachable(addr, last.get())
		}
		if !conn.WaitForStateChange(ctx, state) {
			if err := last.get(); err != nil {
				return unreachable(addr, err)
			}
			return unreachable(addr, ctx.Err())
		}
	}
}

// Reconnected implements worker.Line.
func (c *Client) Reconnected() <-chan struct{} { return c.again }

// watch keeps the connection up, and tells when it has come back.
func (c *Client) watch(ctx context.Context) {
	lost := false
	for {
		state := c.conn.GetState()
		switch state {
		case connectivity.Ready:
			if lost {
				select {
				case c.again <- struct{}{}:
				default: // one waits already
				}
			}
			lost = false
		case connectivity.Shutdown:
			return
		case connectivity.Idle:
			lost = true
			c.conn.Connect()
		default:
			lost = true
		}
		if !c.conn.WaitForStateChange(ctx, state) {
			return
		}
	}
}

// Close ends the connection. Calls that are under way get an error.
func (c *Client) Close() (err error) {
	c.closed.Do(func() {
		c.frames.close()
		err = c.conn.Close()
		c.stop()
		c.watching.Wait()
	})
	return err
}

// bearer sends the key with every call, also over plain text: dev mode's server
// listens on loopback.
type bearer string

func (b bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + string(b)}, nil
}

func (bearer) RequireTransportSecurity() bool { return false }

func (l *lastError) dial(ctx context.Context, addr string) (net.Conn, error) {
	var d net.Dialer
	network := "tcp"
	if path, found := strings.CutPrefix(addr, unixPrefix); found {
		network, addr = "unix", path
	}
	conn, err := d.DialContext(ctx, network, addr)
	l.set(err)
	return conn, err
}
