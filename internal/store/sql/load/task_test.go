package load

import (
	"reflect"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store/sql/column"
)

// TestEveryOptionThatChangesIsStored checks, for each option of a task, that the stored text of the
// options changes with it.
func TestEveryOptionThatChangesIsStored(t *testing.T) {
	before := perdure.Task{ID: uuid.New(), ExecutionID: uuid.New(), Options: perdure.TaskOptions{Priority: new(int)}}
	values, err := TaskValues(&before, nil)
	if err != nil {
		t.Fatal(err)
	}
	row := &TaskRow{&before, values}
	for i := range reflect.TypeFor[perdure.TaskOptions]().NumField() {
		after := before
		after.Options.Priority = new(int)
		if got, err := optionsText(&after, row); err != nil || got != values[taskOptions] {
			t.Fatalf("options that stay become %v, %v", got, err)
		}
		name := reflect.TypeFor[perdure.TaskOptions]().Field(i).Name
		change(t, name, reflect.ValueOf(&after.Options).Elem().Field(i))
		want, err := column.Encode(after.Options)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := optionsText(&after, row); err != nil || got != want || got == values[taskOptions] {
			t.Errorf("%s: options are stored as %v, %v, want %s", name, got, err, want)
		}
	}
}

func change(t *testing.T, name string, field reflect.Value) {
	t.Helper()
	switch {
	case field.Type() == reflect.TypeFor[*int]():
		field.Set(reflect.ValueOf(new(7)))
	case field.Kind() == reflect.String:
		field.SetString("other")
	case field.Kind() == reflect.Bool:
		field.SetBool(true)
	case field.CanInt():
		field.SetInt(int64(time.Second))
	default:
		t.Fatalf("the option %s is a %s, which this test cannot change", name, field.Type())
	}
}
