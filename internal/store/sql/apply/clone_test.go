package apply

import (
	"reflect"
	"slices"
	"testing"

	"github.com/perdure/perdure"
)

// fillPointers sets every pointer in v, and gives every list of waits one element. Waits are nested
// twice.
func fillPointers(v reflect.Value, depth int) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fillPointers(v.Elem(), depth)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fillPointers(v.Field(i), depth)
			}
		}
	case reflect.Slice:
		if v.Type().Elem() == reflect.TypeFor[perdure.Wait]() && depth < 2 {
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			fillPointers(v.Index(0), depth+1)
		}
	}
}

// shared calls `report` with the path of each pointer and each list of waits that a and b share.
func shared(path string, a, b reflect.Value, report func(path string)) {
	switch a.Kind() {
	case reflect.Pointer:
		if a.IsNil() {
			return
		}
		if a.Pointer() == b.Pointer() {
			report(path)
			return
		}
		shared(path, a.Elem(), b.Elem(), report)
	case reflect.Struct:
		for i := range a.NumField() {
			if f := a.Type().Field(i); f.IsExported() {
				shared(path+"."+f.Name, a.Field(i), b.Field(i), report)
			}
		}
	case reflect.Slice:
		if a.Type().Elem() != reflect.TypeFor[perdure.Wait]() || a.Len() == 0 {
			return
		}
		if a.Pointer() == b.Pointer() {
			report(path)
			return
		}
		for i := range a.Len() {
			shared(path, a.Index(i), b.Index(i), report)
		}
	}
}

// replaced lists the pointers of a row that its copy may share: a decision never changes the value
// behind such a pointer, but sets another pointer. Usage and Away are set only in replies.
var replaced = []string{"Execution.Gate", "Execution.Policies", "Execution.Usage", "Execution.Away"}

// TestClonesShareNothing checks that the copy of an execution's row shares no pointer with the row,
// except those in `replaced`.
func TestClonesShareNothing(t *testing.T) {
	var x perdure.Execution
	fillPointers(reflect.ValueOf(&x).Elem(), 0)
	if x.Wait == nil || x.Wait.Any[0].All[0].Question == nil {
		t.Fatal("the waits were not filled")
	}
	shared("Execution", reflect.ValueOf(x), reflect.ValueOf(*cloneExecution(&x)), func(path string) {
		if !slices.Contains(replaced, path) {
			t.Errorf("%s is shared", path)
		}
	})
}
