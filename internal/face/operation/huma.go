package operation

import (
	"encoding/json"
	"io"

	"github.com/danielgtaylor/huma/v2"
	"github.com/perdure/perdure/internal/face/front"
)

// humaConfig returns a configuration of huma without huma's own $schema members and pages.
func humaConfig(version string) huma.Config {
	if version == "" {
		version = "dev"
	}
	plain := huma.Format{
		Marshal: func(w io.Writer, v any) error {
			if is, err := encodeList(utf8Writer{w}, v); is {
				return err
			}
			e := json.NewEncoder(utf8Writer{w})
			e.SetEscapeHTML(false)
			return e.Encode(v)
		},
		Unmarshal: unmarshal,
	}
	return huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info: &huma.Info{
				Title: "Perdure", Version: version,
				Description: "A durable runtime for AI agents. Keys go into the Authorization header as a bearer.",
			},
			Components: &huma.Components{
				Schemas: huma.NewMapRegistry(SchemaPrefix, huma.DefaultSchemaNamer),
				SecuritySchemes: map[string]*huma.SecurityScheme{
					"bearer":  {Type: "http", Scheme: "bearer"},
					"cookie":  {Type: "apiKey", In: "cookie", Name: "__Host-perdure", Description: "Half of a session. Without TLS the name is perdure_ and the port."},
					"session": {Type: "apiKey", In: "header", Name: front.SessionHeader, Description: "The page's half of a session. Each half needs the other."},
				},
			},
		},
		// huma uses "json" for every media type that ends in +json.
		Formats:       map[string]huma.Format{"application/json": plain, "json": plain},
		DefaultFormat: "application/json",
	}
}
