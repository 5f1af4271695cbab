package face

import (
	"context"
	"io/fs"
	"log/slog"
	"net/http"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/durablestream"
	"github.com/perdure/perdure/internal/face/durable"
	"github.com/perdure/perdure/internal/face/front"
	"github.com/perdure/perdure/internal/face/links"
	"github.com/perdure/perdure/internal/face/operation"
	"github.com/perdure/perdure/internal/face/pages"
	"github.com/perdure/perdure/internal/face/questions"
	"github.com/perdure/perdure/internal/face/rest"
	"github.com/perdure/perdure/internal/face/sse"
	"github.com/perdure/perdure/internal/face/ws"
	"github.com/perdure/perdure/internal/health"
	eventlog "github.com/perdure/perdure/internal/log"
	"github.com/perdure/perdure/internal/questionfeed"
)

// Config configures the API. Engine and Log are required. All other fields may be zero.
type Config struct {
	front.Config
	Log *eventlog.Log
	// Health checks whether requests can be served. By default it checks that the store answers and
	// that Stop is not closed.
	Health health.Check
	// Version is the version of the server program, shown in the OpenAPI document.
	Version string
	// Catalog lists the model providers and tools that are built into the program. /providers and
	// /tools return it.
	Catalog perdure.Catalog
	// Pages are the files of the web user interface, including index.html. If Pages is nil, the
	// path / redirects to the description of the API.
	Pages fs.FS
	// Streams, if set, counts the event streams that continue after their handlers have returned.
	// http.Server.Shutdown does not wait for these streams. They end when Stop is closed.
	Streams *sse.OpenStreams
	// StreamsPerOrg is the maximum number of durable streams of one org; 0 means 10,000.
	StreamsPerOrg int
}

// API is the handler of the whole API.
type API struct {
	http.Handler
	front *front.Front
}

// WaitStreams waits until all streams and WebSockets have ended, or until ctx ends.
func (a *API) WaitStreams(ctx context.Context) { a.front.WaitStreams(ctx) }

// Routes returns the patterns of all routes.
func (a *API) Routes() []string { return a.front.Routes() }

// New creates the handler of the whole API.
func New(c Config) (*API, error) {
	f := front.New(c.Config)
	if c.Health == nil {
		c.Health = answers(f)
	}
	a := operation.New(f, c.Version)
	mountOpenAI(f, c.Log)
	rest.Register(a, rest.Config{Log: c.Log, Health: c.Health, Catalog: c.Catalog})
	questions.Register(a, questionfeed.New(f.Engine.Store, f.Engine.Hints))
	links.Register(f)
	sse.Register(a, sse.Config{Log: c.Log, Streams: c.Streams})
	ws.Register(f, c.Log)
	durable.Register(f, c.Log, durablestream.New(f.Engine.Store, f.Engine.Hints, c.StreamsPerOrg))
	if err := pages.Register(a, c.Pages); err != nil {
		return nil, err
	}
	return &API{f, f}, nil
}

// answers returns the default of Config.Health: a check that the store answers and that the server
// is not stopping.
func answers(f *front.Front) health.Check {
	return func(ctx context.Context) (r health.Report) {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		if _, err := f.Engine.Read().AnyKey(ctx); err != nil {
			f.Logger.WarnContext(ctx, "the store does not answer", slog.Any("error", err))
			r.Unready = append(r.Unready, health.Reason{Check: "store", Detail: "the store does not answer"})
		}
		select {
		case <-f.Stop:
			r.Unready = append(r.Unready, health.Reason{Check: "stopping", Detail: "the server is stopping"})
		default:
		}
		return r
	}
}
