package lookup

import (
	"reflect"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/spf13/pflag"
)

// TestEveryFilterHasAFlag checks that flags can set each field of a filter, to the given value.
func TestEveryFilterHasAFlag(t *testing.T) {
	id := uuid.New()
	var f FilterFlags
	flags := pflag.NewFlagSet("runs", pflag.ContinueOnError)
	f.Add(flags)
	err := flags.Parse([]string{
		"--status", "running,failed", "--kind", "k", "--tag", "t", "--metadata", "a=1", "--metadata", "b=x=y", "--failed-turn",
		"--query", "words", "--definition", id.String(), "--created-after", "2026-03-04T05:06:07Z", "--created-before", "2026-03-05T00:00:00Z",
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := f.Filter()
	if err == nil {
		err = f.Find(t.Context(), nil, &got)
	}
	want := client.ExecutionFilter{
		Status: []perdure.Status{perdure.StatusRunning, perdure.StatusFailed}, Kind: "k", Tag: "t", DefinitionID: &id,
		CreatedAfter: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC), CreatedBefore: time.Date(2026, 3, 5, 0, 0, 0, 0, time.UTC),
		Metadata: map[string]string{"a": "1", "b": "x=y"}, FailedTurn: true, Query: "words",
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("the filter is %+v, want %+v; %v", got, want, err)
	}
	for i := range reflect.TypeFor[client.ExecutionFilter]().NumField() {
		if reflect.ValueOf(got).Field(i).IsZero() {
			t.Errorf("no flag of this test sets %s", reflect.TypeFor[client.ExecutionFilter]().Field(i).Name)
		}
	}
	flags.VisitAll(func(flag *pflag.Flag) {
		if !flag.Changed {
			t.Errorf("this test does not use --%s", flag.Name)
		}
	})
}
