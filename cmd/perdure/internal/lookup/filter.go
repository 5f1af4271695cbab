package lookup

import (
	"context"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/spf13/pflag"
)

// FilterFlags has the values of the flags that select runs in a list.
type FilterFlags struct {
	f                client.ExecutionFilter
	status, metadata []string
	definition       string // id or slug
	after, before    string
}

// Add defines the flags on a command.
func (f *FilterFlags) Add(flags *pflag.FlagSet) {
	flags.StringSliceVar(&f.status, "status", nil, "only those with one of these statuses: pending (shown as queued), running (working), waiting (your turn, asks, sleeping, waits for), cancelling, completed, failed, cancelled")
	flags.StringVar(&f.f.Kind, "kind", "", "only those of this kind of agent")
	flags.StringVar(&f.f.Tag, "tag", "", "only those of kinds with this tag")
	flags.StringArrayVar(&f.metadata, "metadata", nil, "KEY=VALUE: only those with this metadata; may be repeated")
	flags.BoolVar(&f.f.FailedTurn, "failed-turn", false, "only conversations whose newest turn has failed")
	flags.StringVarP(&f.f.Query, "query", "q", "", "only those with these words in id, kind or input")
	flags.StringVar(&f.definition, "definition", "", "only those that started from this definition (id or slug)")
	flags.StringVar(&f.after, "created-after", "", "only those that were started after this time, like 2026-03-04T05:06:07Z")
	flags.StringVar(&f.before, "created-before", "", "only those that were started before this time")
}

// Filter returns the filter that the values of the flags describe, without the definition: see Find.
// Error: UsageError.
func (f *FilterFlags) Filter() (client.ExecutionFilter, error) {
	r := f.f
	for _, name := range f.status {
		s, err := perdure.ParseStatus(strings.TrimSpace(name))
		if err != nil {
			return r, err
		}
		r.Status = append(r.Status, s)
	}
	r.Metadata = map[string]string{}
	for _, pair := range f.metadata {
		key, value, ok := strings.Cut(pair, "=")
		if !ok {
			return r, setup.NewUsageError("--metadata "+pair+" is no pair", "write it like --metadata ticket=42")
		}
		r.Metadata[key] = value
	}
	var err error
	if r.CreatedAfter, err = flagTime("created-after", f.after); err == nil {
		r.CreatedBefore, err = flagTime("created-before", f.before)
	}
	return r, err
}

// Find adds the definition that a flag names to the filter r. Error: invalid_argument if there is no
// definition with this slug.
func (f *FilterFlags) Find(ctx context.Context, c *client.Client, r *client.ExecutionFilter) (err error) {
	r.DefinitionID, err = DefinitionID(ctx, c, f.definition)
	return err
}

func flagTime(flag, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return at, setup.NewUsageError("--"+flag+" "+text+" is no time", "write it like 2026-03-04T05:06:07Z")
	}
	return at, nil
}
