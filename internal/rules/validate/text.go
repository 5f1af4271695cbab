// Package validate contains checks of requests that need no stored state: checks of JSON, and
// checks for texts that some stores cannot hold.
package validate

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"

	"github.com/perdure/perdure"
)

// MaxName is the maximum length in bytes of a name that a user sets, such as the name of a key or a
// queue.
const MaxName = 200

// Texts returns an error for the first text in a request that some store cannot hold. It visits all
// fields by reflection, so that a field that is added to a request later cannot be forgotten. It
// does not check contents, which are bytes, nor texts of errors, which TaskError repairs. The error
// names the field of the text; the name begins with `at`.
func Texts(at string, request any) error {
	where, bad := badText(reflect.ValueOf(request))
	if bad == "" {
		return nil
	}
	return perdure.CheckText(strings.TrimPrefix(at+where, "."), bad)
}

var (
	taskErrorType = reflect.TypeFor[perdure.TaskError]()
	timeType      = reflect.TypeFor[perdure.Time]()
)

// badText returns the first text in v that some store cannot hold, and its place in v. Both are ""
// if there is none.
func badText(v reflect.Value) (where, text string) {
	switch v.Kind() {
	case reflect.String:
		if text := v.String(); perdure.CheckText("", text) != nil {
			return "", text
		}
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			return badText(v.Elem())
		}
	case reflect.Slice:
		return badTextOfEach(v)
	case reflect.Map:
		for members := v.MapRange(); members.Next(); {
			for _, part := range []reflect.Value{members.Key(), members.Value()} {
				if where, bad := badText(part); bad != "" {
					return where, bad
				}
			}
		}
	case reflect.Struct:
		return badTextOfFields(v)
	}
	return "", ""
}

func badTextOfEach(v reflect.Value) (where, text string) {
	switch v.Type().Elem().Kind() {
	case reflect.Uint8, reflect.Array:
		return "", "" // bytes of a content, or ids
	}
	for i := range v.Len() {
		if where, bad := badText(v.Index(i)); bad != "" {
			return fmt.Sprintf("[%d]%s", i, where), bad
		}
	}
	return "", ""
}

func badTextOfFields(v reflect.Value) (where, text string) {
	t := v.Type()
	if t == taskErrorType || t == timeType {
		return "", ""
	}
	for i := range t.NumField() {
		where, bad := badText(v.Field(i))
		if bad == "" {
			continue
		}
		if field := t.Field(i); !field.Anonymous {
			where = "." + nameOf(field) + where
		}
		return where, bad
	}
	return "", ""
}

// nameOf returns the name of a field in JSON, by which clients and workers know the field.
func nameOf(f reflect.StructField) string {
	if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
		return name
	}
	return strings.ToLower(f.Name[:1]) + f.Name[1:]
}

// JSON checks a value that is stored as JSON text. It allows escapes of any character.
func JSON(field string, raw json.RawMessage) error {
	if len(raw) == 0 {
		return nil
	}
	return perdure.CheckDocumentBytes(field, raw, perdure.DocumentRules{Workers: true})
}

// Metadata checks an execution's metadata. It refuses half of a surrogate pair, which is not a
// character, because the store compares members as text.
func Metadata(raw json.RawMessage) error {
	if err := JSON("metadata", raw); err != nil {
		return err
	}
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		i++ // skip the escaped character, which valid JSON has
		if raw[i] != 'u' {
			continue
		}
		first := escaped(raw[i+1:])
		i += 4
		if !utf16.IsSurrogate(first) {
			continue
		}
		rest := raw[i+1:]
		if len(rest) < 6 || rest[0] != '\\' || rest[1] != 'u' || utf16.DecodeRune(first, escaped(rest[2:])) == unicode.ReplacementChar {
			return perdure.FieldErrorf("metadata", `holds \u%04x, which is half of a pair of surrogates and no character`, first)
		}
		i += 6
	}
	return nil
}

// escaped returns the character for an escape \u with these four hexadecimal digits.
func escaped(digits []byte) rune {
	n, err := strconv.ParseUint(string(digits[:4]), 16, 16)
	if err != nil {
		return unicode.ReplacementChar // unreachable: valid JSON has digits here
	}
	return rune(n)
}

// TaskError returns a copy of the error with texts that every store can hold. Otherwise the store
// would refuse the end of an execution or task with this error, which would then never end.
func TaskError(e *perdure.TaskError) *perdure.TaskError {
	if e == nil {
		return nil
	}
	m := *e
	m.Code, m.Message = perdure.Code(perdure.ValidText(string(e.Code))), perdure.ValidText(e.Message)
	return &m
}
