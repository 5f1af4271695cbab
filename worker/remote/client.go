// Package remote connects a worker to a server over gRPC. Its Client implements perdure.Dispatch, and
// returns the same replies as an engine in the same process would. Where the server sends only a reference
// to a content, the Client downloads the content.
package remote

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/google/uuid"
	"github.com/perdure/perdure"
	perdurev1 "github.com/perdure/perdure/api/perdure/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
)

// maxMessage is the maximum size of a gRPC message in bytes. The server has the same limit.
const maxMessage = 4 << 20

// Options are the server's addresses and the credentials of a Client.
type Options struct {
	// Addr is the gRPC address of the server: host:port, or unix:PATH. It may be a list of addresses,
	// separated by commas. All addresses in the list, and all addresses of a host name, must be servers of
	// one store. The client connects to a random one, and switches to another if that one fails.
	Addr string
	// Token is an API key with the role worker or admin.
	Token string
	// Org is the org to work for; "" means the key's org. Only the token in a server's data
	// directory may name another org.
	Org string
	// TLS secures the connection. Nil means plain text, which is only for loopback and private
	// networks.
	TLS *tls.Config
	// WorkerID is the worker id in those calls whose arguments contain none.
	WorkerID uuid.UUID
	// Logger receives log lines about retries. Nil means slog.Default.
	Logger *slog.Logger
}

// Client is a connection to a server. It is safe for concurrent use.
type Client struct {
	o      Options
	at     addresses
	conn   *grpc.ClientConn
	wire   *wire
	agents perdurev1.AgentDispatchClient
	worker perdurev1.WorkerDispatchClient
	frames frameStream
	closed sync.Once

	again    chan struct{} // receives a token after a reconnect; has capacity one
	line     reconnectSignal
	pauses   func() backoff.BackOff // returns the pauses between the tries of one call
	stop     context.CancelFunc
	watching sync.WaitGroup
}

var _ perdure.Dispatch = (*Client)(nil)

// Dial returns a client once the server is reachable. The client reconnects by itself if the
// connection is lost. The caller closes the client. Errors: invalid_argument; unavailable, with the
// address and advice. If ctx ends first, unavailable wraps the last error of connecting or, if
// there is none, the error of ctx.
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
	var last lastError
	at, err := parseAddresses(o.Addr, &last)
	if err != nil {
		return nil, err
	}
	if o.TLS == nil && !at.private() {
		o.Logger.Warn("the API key goes over the network in plain text; use TLS", "addr", o.Addr)
	}
	wire := &wire{}
	conn, err := open(o, at, wire)
	if err != nil {
		return nil, err
	}
	if err := connect(ctx, conn, o.Addr, &last); err != nil {
		_ = conn.Close()
		return nil, err
	}
	c := &Client{
		o: o, at: at, conn: conn, wire: wire,
		agents: perdurev1.NewAgentDispatchClient(conn),
		worker: perdurev1.NewWorkerDispatchClient(conn),
	}
	c.again, c.pauses = make(chan struct{}, 1), shortPauses
	watched, stop := context.WithCancel(context.WithoutCancel(ctx))
	c.stop = stop
	c.watching.Go(func() { c.watch(watched) })
	c.frames.open = c.worker.StreamData
	c.frames.init()
	return c, nil
}

// open creates a connection to the addresses `at`. It adds the sockets of the connection to the
// list `wire`, which can close them.
func open(o Options, at addresses, wire *wire) (*grpc.ClientConn, error) {
	conn, err := grpc.NewClient(scheme+":///", append(dialOptions(o, at.last, wire), grpc.WithResolvers(at))...)
	if err != nil {
		return nil, perdure.FieldErrorf("addr", "%q cannot be dialled: %v", o.Addr, err)
	}
	return conn, nil
}

func dialOptions(o Options, last *lastError, wire *wire) []grpc.DialOption {
	secure := insecure.NewCredentials()
	if o.TLS != nil {
		secure = credentials.NewTLS(o.TLS)
	}
	return []grpc.DialOption{
		grpc.WithTransportCredentials(last.watch(secure)),
		grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) { return wire.dial(ctx, addr, last) }),
		grpc.WithPerRPCCredentials(credential{token: o.Token, org: o.Org}),
		grpc.WithUserAgent("perdure-worker"),
		grpc.WithChainUnaryInterceptor(withTraceparent, refuseBadText, lostUnary),
		grpc.WithChainStreamInterceptor(lostStream),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage), grpc.MaxCallSendMsgSize(maxMessage), unreplayed),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 15 * time.Second, Timeout: 10 * time.Second, PermitWithoutStream: true}),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: reconnect, MinConnectTimeout: 5 * time.Second}),
	}
}

// connect waits until the connection is established. Error: unavailable if the first try fails or
// ctx ends.
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

// Reconnected implements worker.Line. The channel receives one value after each reconnect, but two
// reconnects in quick succession may cause only one value.
func (c *Client) Reconnected() <-chan struct{} { return c.again }

// watch connects again whenever gRPC reports that the connection is in the state Idle, and
// announces each reconnect, until ctx ends.
func (c *Client) watch(ctx context.Context) {
	lost := false
	for {
		state := c.conn.GetState()
		switch state {
		case connectivity.Ready:
			if lost {
				c.line.broadcast()
				select {
				case c.again <- struct{}{}:
				default: // there is a token that nobody has received yet, and one is enough
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

// Close closes the connection. Pending calls then return an error. Further calls of Close do
// nothing.
func (c *Client) Close() (err error) {
	c.closed.Do(func() {
		c.frames.close()
		err = c.conn.Close()
		c.stop()
		c.watching.Wait()
	})
	return err
}

// credential is the token and the org that the client sends with every call. It may be sent over plain
// text, because a server in dev mode listens on loopback without TLS.
type credential struct{ token, org string }

func (c credential) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	sent := map[string]string{"authorization": "Bearer " + c.token}
	if c.org != "" {
		sent[orgMetadata] = c.org
	}
	return sent, nil
}

func (credential) RequireTransportSecurity() bool { return false }

// orgMetadata is the metadata key of the org. It equals the server's grpcapi.OrgMetadata.
const orgMetadata = "perdure-org"
