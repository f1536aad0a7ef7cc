package revision

import (
	"context"
	"errors"
	"time"

	"agentd/hookpoints"
)

// ErrNotFound: no such revision is kept here.
var ErrNotFound = errors.New("no such revision")

// File is one file of a layer. Path is relative to the layer's folder, with forward slashes:
// "agentd.yaml", "hooks/limit.star".
type File struct {
	Path string
	Text []byte
}

// Revision is the frozen content of one layer. ID is the hash of Manifest, which is canonical JSON
// and names each file by its hash; Files are their texts, so that it can run when the working files
// are gone.
type Revision struct {
	ID       string
	Layer    hookpoints.Layer
	Parent   string // the head that it replaced, "" for the first
	Note     string
	Created  time.Time
	Listed   bool // published; an unlisted one was only served by serve --dev
	Manifest []byte
	Files    []File
	// Signature is what a key says about Manifest, see Sign; "" if it isn't signed.
	Signature string
}

// Source keeps revisions.
type Source interface {
	// Revision returns a revision with its files, or ErrNotFound.
	Revision(ctx context.Context, id string) (*Revision, error)
	// Keep stores a revision. Keeping it again changes nothing, but that an unlisted one becomes
	// listed (with its parent, note and time) if r is, and an unsigned one signed.
	Keep(ctx context.Context, r *Revision) error
	// Listed returns the listed revisions of a layer, newest first, without files.
	Listed(ctx context.Context, layer hookpoints.Layer) ([]*Revision, error)
	// Head returns the id of the revision that serves, "" if none was published.
	Head(ctx context.Context, layer hookpoints.Layer) (string, error)
	// SetHead makes a kept and listed revision the head.
	SetHead(ctx context.Context, layer hookpoints.Layer, id string) error
}
