package pipe

import (
	"database/sql"
	"encoding/binary"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

// scanner returns a function that copies the columns of the current row to its arguments, like
// [sql.Rows.Scan]. Values have the types of database/sql (int64, string, []byte, nil); ids are
// their 16 bytes, booleans are 0 and 1.
func scanner(rows pgx.Rows) func(dest ...any) error { return scannerOf(rows, 0) }

// scannerOf returns the same function as scanner, except that the last `without` columns of the row
// are left out.
func scannerOf(rows pgx.Rows, without int) func(dest ...any) error {
	var fields []pgconn.FieldDescription
	return func(dest ...any) error {
		if fields == nil { // if the query failed, there are no fields before the first row
			fields = rows.FieldDescriptions()
		}
		raw := rows.RawValues()
		raw = raw[:len(raw)-without]
		if len(raw) != len(dest) {
			return fmt.Errorf("%d columns are read into %d places", len(raw), len(dest))
		}
		for i := range dest {
			value, err := decode(&fields[i], raw[i])
			if err == nil {
				err = assign(dest[i], value)
			}
			if err != nil {
				return fmt.Errorf("column %s: %w", fields[i].Name, err)
			}
		}
		return nil
	}
}

func decode(f *pgconn.FieldDescription, raw []byte) (any, error) {
	if raw == nil {
		return nil, nil
	}
	switch f.DataTypeOID {
	case pgtype.TextOID, pgtype.VarcharOID, pgtype.NameOID:
		return string(raw), nil
	}
	if f.Format != pgtype.BinaryFormatCode {
		return nil, fmt.Errorf("type %d comes as text", f.DataTypeOID)
	}
	switch f.DataTypeOID {
	case pgtype.Int8OID:
		return int64(binary.BigEndian.Uint64(raw)), nil
	case pgtype.Int4OID:
		return int64(int32(binary.BigEndian.Uint32(raw))), nil
	case pgtype.Int2OID:
		return int64(int16(binary.BigEndian.Uint16(raw))), nil
	case pgtype.BoolOID:
		return int64(raw[0]), nil
	case pgtype.ByteaOID, pgtype.UUIDOID:
		return append(make([]byte, 0, len(raw)), raw...), nil
	}
	return nil, fmt.Errorf("type %d is not known here", f.DataTypeOID)
}

// assign stores a value in its destination. NULL becomes the zero value if the destination cannot
// represent NULL.
func assign(dest, value any) error {
	if s, ok := dest.(sql.Scanner); ok {
		return s.Scan(value)
	}
	if p, ok := dest.(*any); ok {
		*p = value
		return nil
	}
	switch v := value.(type) {
	case int64:
		return assignNumber(dest, v)
	case string:
		switch p := dest.(type) {
		case *string:
			*p = v
			return nil
		case **string:
			*p = &v
			return nil
		}
	case []byte:
		if p, ok := dest.(*[]byte); ok {
			*p = v
			return nil
		}
	case nil:
		switch p := dest.(type) {
		case **int64:
			*p = nil
			return nil
		case **string:
			*p = nil
			return nil
		case *[]byte:
			*p = nil
			return nil
		}
	}
	return fmt.Errorf("a %T cannot be read into a %T", value, dest)
}

func assignNumber(dest any, v int64) error {
	switch p := dest.(type) {
	case *int64:
		*p = v
	case *int:
		*p = int(v)
	case *int32:
		*p = int32(v)
	case **int64:
		*p = &v
	case *bool:
		*p = v != 0
	default:
		return fmt.Errorf("a number cannot be read into a %T", dest)
	}
	return nil
}
