package view_test

import (
	"testing"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/schematest"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/view"
)

// The schema has every field of every document, and no other.
func TestSchemaHasEveryField(t *testing.T) {
	schematest.Fields(t, "schema.json", map[string]any{
		"node": view.Node{}, "lock": view.Lock{}, "list": view.List{}, "queue": view.Queue{}, "revoked": view.Revoked{}, "broken": view.Broken{},
		"wait": view.Wait{}, "cycle": view.Cycle{}, "deadlocks": view.Deadlocks{}, "event": view.Event{},
	})
}
