package perdure

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// DecodeExactly decodes JSON into *v. It refuses a member whose name is not exactly the JSON name
// of a field of the type of *v. (encoding/json accepts a name in any case.) The error is
// invalid_argument and names the member's path, which begins with root.
func DecodeExactly(root string, raw []byte, v any) error {
	if err := CheckDocumentBytes(root, raw, DocumentRules{}); err != nil {
		return err
	}
	if err := checkNames(root, raw, reflect.TypeOf(v), false); err != nil {
		return err
	}
	if err := json.Unmarshal(raw, v); err != nil {
		return mistyped(root, err)
	}
	return nil
}

// mistyped returns the error for a value that does not decode. If the value has the wrong type, the
// error names the member, the type of the value and the expected type.
func mistyped(root string, err error) error {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return FieldErrorf(root, "does not decode: %v", err)
	}
	at := strings.TrimPrefix(root+"."+wrong.Field, ".")
	return FieldErrorf(strings.TrimSuffix(at, "."), "is of type %s, but must be %s", wrong.Value, nameOfType(wrong.Type))
}

// nameOfType returns the name of the JSON type from which a value of type t is decoded.
func nameOfType(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice, reflect.Array:
		return "an array"
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return "a whole number"
	}
	return "a number in its range"
}

// CheckExactNames refuses members whose names differ only in case from the JSON name of a field of
// v's type. All other unknown members are accepted.
func CheckExactNames(root string, raw []byte, v any) error {
	return checkNames(root, raw, reflect.TypeOf(v), true)
}

var (
	decodesItself = reflect.TypeFor[json.Unmarshaler]()
	decodesText   = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// checkNames checks the names in raw against the fields of the type t. If the parameter `unknown`
// is true, checkNames accepts an unknown name, unless the name differs only in case from a field's
// name. It ignores values of a wrong type, because the decoder refuses them.
func checkNames(at string, raw json.RawMessage, t reflect.Type, unknown bool) error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if p := reflect.PointerTo(t); p.Implements(decodesItself) || p.Implements(decodesText) {
		return nil
	}
	switch t.Kind() {
	case reflect.Struct:
		return checkMembers(at, raw, membersOf(t), unknown)
	case reflect.Slice, reflect.Array:
		return checkElements(at, raw, t.Elem(), unknown)
	case reflect.Map:
		var members map[string]json.RawMessage
		if json.Unmarshal(raw, &members) != nil {
			return nil
		}
		for _, name := range slices.Sorted(maps.Keys(members)) {
			if err := checkNames(under(at, name), members[name], t.Elem(), unknown); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkElements(at string, raw json.RawMessage, t reflect.Type, unknown bool) error {
	if raw = bytes.TrimSpace(raw); len(raw) == 0 || raw[0] != '[' || t.Kind() == reflect.Uint8 {
		return nil
	}
	var elements []json.RawMessage
	if json.Unmarshal(raw, &elements) != nil {
		return nil
	}
	for i, e := range elements {
		if err := checkNames(at+"["+strconv.Itoa(i)+"]", e, t, unknown); err != nil {
			return err
		}
	}
	return nil
}

func checkMembers(at string, raw json.RawMessage, known map[string]reflect.Type, unknown bool) error {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		t, ok := known[name]
		if !ok && (!unknown || alike(name, known)) {
			return FieldErrorf(under(at, cutKey(name)), "is no member of it; it has %s", strings.Join(slices.Sorted(maps.Keys(known)), ", "))
		}
		if !ok {
			continue
		}
		if err := checkNames(under(at, name), members[name], t, unknown); err != nil {
			return err
		}
	}
	return nil
}

func alike(name string, known map[string]reflect.Type) bool {
	for k := range known {
		if foldName(k) == foldName(name) {
			return true
		}
	}
	return false
}

func under(at, name string) string { return strings.TrimPrefix(at+"."+name, ".") }

// membersOf returns the types of a struct's fields by their JSON names.
func membersOf(t reflect.Type) map[string]reflect.Type {
	members := map[string]reflect.Type{}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-", !f.IsExported(), f.Anonymous && name == "":
		case name == "":
			members[f.Name] = f.Type
		default:
			members[name] = f.Type
		}
	}
	return members
}
