package daemon

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"agentd/hookpoints"
	"agentd/internal/config"
	"agentd/revision"
	"agentd/store"
)

// ErrUntrusted: a revision of the project that the user of this machine doesn't trust.
var ErrUntrusted = errors.New("it isn't trusted here")

// judge knows what of a project its user trusts. What counts is in the user's own file, never in the
// project, which may have come from anywhere.
type judge struct {
	places  config.Places
	signers []string // require_signature of the user
	// said is what a person answered when the working files began to serve; nil: nobody was asked. With
	// all, files count as they stand: for verbs that only try out what a person wrote.
	said *approval
	all  bool
}

// approval trusts a folder's hooks while a daemon runs, and these powers.
type approval struct{ powers []string }

// project is the folder as the book names it.
func project(p config.Places) string {
	if real, err := filepath.EvalSymlinks(p.Project); err == nil {
		return real
	}
	return p.Project
}

func (j *judge) book(ctx context.Context) ([]store.Trust, error) {
	list, err := store.ReadTrust(ctx, j.places.TrustBook(), project(j.places))
	if err != nil {
		return nil, fmt.Errorf("what you trust can't be read: %w", err)
	}
	return list, nil
}

// accept says why a revision may not be loaded: it is the project's, and nobody here trusts it, or it
// isn't signed as the user wants it. It is asked before anything of it is read.
func (j *judge) accept(ctx context.Context, r *revision.Revision) error {
	if r.Layer != hookpoints.Project || j.all {
		return nil
	}
	terms, err := revision.TermsOf(r.Manifest)
	if err != nil || terms.Untrusted { // of such a one nothing has to be trusted
		return err
	}
	if r.Listed {
		if err := revision.CheckSignature(r.Manifest, r.Signature, j.signers); err != nil {
			return err
		}
	}
	list, err := j.book(ctx)
	if err != nil {
		return err
	}
	if revision.ID(r.Manifest) != r.ID || !slices.ContainsFunc(list, func(t store.Trust) bool { return t.Kind == store.TrustRevision && t.Hash == r.ID }) {
		if where := j.elsewhere(ctx, r.ID); where != "" {
			return fmt.Errorf("%w, but in %s; if you moved or copied that here, publish it again (and install again for each client)", ErrUntrusted, where)
		}
		return fmt.Errorf("%w; look at it with agentd revisions show %.12s, and publish the files yourself if they are right", ErrUntrusted, r.ID)
	}
	return nil
}

// strange tells whether nothing of the project was ever trusted here, nor its head anywhere. Guards don't go because
// a folder has another name.
func (j *judge) strange(ctx context.Context, head string) bool {
	list, err := j.book(ctx)
	return err == nil && len(list) == 0 && j.elsewhere(ctx, head) == ""
}

// lost says that hooks of the project served on this machine, and nothing of them is left: whoever took its state away
// took its guards with it, and nobody may be let go on by that. A state folder of somebody's own choice is another matter.
func (j *judge) lost(ctx context.Context, own heads) error {
	if j.all || j.places.StateDir != filepath.Join(j.places.Project, config.Dir, "state") {
		return nil
	}
	list, err := j.book(ctx)
	if err != nil {
		return err
	}
	last := ""
	for _, t := range list {
		if t.Kind != store.TrustRevision {
			continue
		}
		if last = t.Hash; own == nil {
			continue
		}
		if _, err := own.Revision(ctx, last); !errors.Is(err, revision.ErrNotFound) {
			return err
		}
	}
	if last == "" {
		return nil
	}
	return fmt.Errorf("hooks of this project served here (revision %.12s), and %s has nothing of them any more; agentd publish, or agentd trust revoke where the project has none now", last, j.places.StateDir)
}

// elsewhere is another folder in which a revision is trusted, "" if there is none.
func (j *judge) elsewhere(ctx context.Context, id string) string {
	all, err := store.ReadTrust(ctx, j.places.TrustBook(), "")
	if err != nil {
		return ""
	}
	for _, t := range all {
		if t.Kind == store.TrustRevision && t.Hash == id {
			return t.Project
		}
	}
	return ""
}

// terms are those under which the project's working files serve.
func (j *judge) terms(ctx context.Context, files []revision.File) (revision.Terms, error) {
	if j.all {
		return revision.Terms{}, nil
	}
	t, err := j.look(ctx, files)
	switch {
	case err != nil:
		return revision.Terms{}, err
	case t.Trusted:
		return revision.Terms{}, nil
	case j.said == nil:
		return revision.Terms{Untrusted: true}, nil
	}
	withheld := slices.DeleteFunc(slices.Clone(t.Powers), func(power string) bool { return slices.Contains(j.said.powers, power) })
	return revision.Terms{Withheld: withheld}, nil
}

// Trust is where a project's working files stand.
type Trust struct {
	Project string   `json:"project"`
	Hash    string   `json:"hash"` // of every byte of them
	Trusted bool     `json:"trusted"`
	Files   []string `json:"files"`
	Powers  []string `json:"powers"` // that they name
	New     []string `json:"new"`    // that were never approved
}

func (j *judge) look(ctx context.Context, files []revision.File) (Trust, error) {
	t := Trust{Project: project(j.places), Hash: revision.TreeHash(files), Files: []string{}, Powers: []string{}}
	for _, f := range files {
		t.Files = append(t.Files, f.Path)
		if f.Path == revision.ConfigFile {
			c, _ := revision.ParseConfig(f.Text)
			t.Powers = c.Powers()
		}
	}
	list, err := j.book(ctx)
	t.New = slices.Clone(t.Powers)
	for _, known := range list {
		t.Trusted = t.Trusted || known.Kind == store.TrustFiles && known.Hash == t.Hash
		t.New = slices.DeleteFunc(t.New, func(p string) bool { return slices.Contains(known.Powers, p) })
	}
	return t, err
}

// LookAtTrust says where a project's working files stand.
func LookAtTrust(ctx context.Context, p config.Places) (Trust, error) {
	files, err := working(p, hookpoints.Project)
	if err != nil {
		return Trust{}, err
	}
	return (&judge{places: p}).look(ctx, files)
}

// TrustFiles writes down that a project's working files are trusted as they were looked at: if they have
// changed since, nothing is.
func TrustFiles(ctx context.Context, p config.Places, looked Trust, now time.Time) error {
	again, err := LookAtTrust(ctx, p)
	if err != nil {
		return err
	}
	if again.Hash != looked.Hash {
		return errors.New("the files have changed since you looked at them; look again")
	}
	return writeTrust(ctx, p, store.Trust{Project: looked.Project, Kind: store.TrustFiles, Hash: looked.Hash, Powers: looked.Powers, At: now})
}

func writeTrust(ctx context.Context, p config.Places, list ...store.Trust) error {
	b, err := store.OpenTrustBook(ctx, p.TrustBook())
	if err != nil {
		return fmt.Errorf("what you trust can't be written down: %w", err)
	}
	defer b.Close()
	return b.Add(ctx, list...)
}

// TrustList lists what is trusted of a project, of all if everything.
func TrustList(ctx context.Context, p config.Places, everything bool) ([]store.Trust, error) {
	of := project(p)
	if everything || p.Project == "" {
		of = ""
	}
	list, err := store.ReadTrust(ctx, p.TrustBook(), of)
	if list == nil {
		list = []store.Trust{}
	}
	return list, err
}

// Distrust forgets what is trusted of a project, all of it without a hash.
func Distrust(ctx context.Context, p config.Places, hash string) (int64, error) {
	b, err := store.OpenTrustBook(ctx, p.TrustBook())
	if err != nil {
		return 0, err
	}
	defer b.Close()
	return b.Revoke(ctx, project(p), hash)
}

// trustRevision writes down that a layer of the project was built from files that are trusted, with the
// files themselves where it was published.
func trustRevision(ctx context.Context, p config.Places, l *revision.Layer, files []revision.File, now time.Time) error {
	if l.Layer != hookpoints.Project || l.Terms.Untrusted {
		return nil
	}
	list, err := store.ReadTrust(ctx, p.TrustBook(), project(p))
	if err != nil {
		return err
	}
	powers := l.Config.Powers()
	add := []store.Trust{{Project: project(p), Kind: store.TrustRevision, Hash: l.ID, Powers: powers, At: now}}
	if files != nil {
		add = append(add, store.Trust{Project: project(p), Kind: store.TrustFiles, Hash: revision.TreeHash(files), Powers: powers, At: now})
	}
	add = slices.DeleteFunc(add, func(t store.Trust) bool {
		return slices.ContainsFunc(list, func(known store.Trust) bool { return known.Kind == t.Kind && known.Hash == t.Hash })
	})
	if len(add) == 0 {
		return nil
	}
	return writeTrust(ctx, p, add...)
}

// settle finds out whether the project's own live settings count: its files are trusted as they lie there.
func settle(ctx context.Context, p config.Places) (config.Places, error) {
	if p.Project == "" {
		return p, nil
	}
	t, err := LookAtTrust(ctx, p)
	if err != nil { // what can't be read can't be trusted; whoever needs it says what is wrong
		p.Foreign = true
		return p, nil
	}
	p.Foreign = !t.Trusted
	return p, nil
}
