package tool

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"unicode/utf8"

	"agentd/hookpoints/payload"
)

// maxFile bounds the files that are written and edited, in bytes, as a payload holds no more.
const maxFile = 8 << 20

// ErrBaseChanged is wrapped by results' errors when a file isn't what it was when its change was
// prepared.
var ErrBaseChanged = errors.New("the file changed meanwhile")

// errUnsure marks a change that was made and may not outlast a power failure.
var errUnsure = errors.New("whether the change lasts isn't known")

// WriteKind says what a Write does to its file, in the words of the point file.write.before.
type WriteKind string

// The kinds of writes.
const (
	Create WriteKind = "create" // a file that wasn't there
	Save   WriteKind = "save"   // a new content for a file
	Patch  WriteKind = "patch"  // a part of a file replaced
	Delete WriteKind = "delete"
)

// Write is a change of one file, computed and not yet made.
type Write struct {
	// Path is relative to the workspace, slash-separated, and free of symbolic links: it is the
	// file that really changes.
	Path string

	Kind WriteKind

	// Content is the whole new content, "" for Delete.
	Content string

	// BaseHash is the SHA-256 of the content that was there, in hexadecimal; "" if there was none.
	BaseHash string
}

// Value is the payload of file.write.before.
func (w Write) Value() payload.Value {
	content, hash := payload.NewString(w.Content), payload.NewNull()
	if w.Kind == Delete {
		content = payload.NewNull()
	}
	if w.BaseHash != "" {
		hash = payload.NewString(w.BaseHash)
	}
	return object(text("path", w.Path), text("kind", string(w.Kind)),
		payload.Field{Name: "content", Value: content}, payload.Field{Name: "base_hash", Value: hash})
}

// WriteFrom reads what [Write.Value] made, as a hook or a journal hands it back.
func WriteFrom(v payload.Value) (Write, error) {
	w := Write{
		Path: v.Get("path").Text(), Kind: WriteKind(v.Get("kind").Text()),
	}
	if c := v.Get("content"); c.Kind() == payload.String {
		w.Content = c.Text()
	}
	if h := v.Get("base_hash"); h.Kind() == payload.String {
		w.BaseHash = h.Text()
	}
	switch w.Kind {
	case Create, Save, Patch, Delete:
	default:
		return Write{}, fmt.Errorf("a write can't be of kind %q: it is create, save, patch or delete", w.Kind)
	}
	if w.Path == "" || w.Kind == Delete && w.Content != "" {
		return Write{}, errors.New("a write needs a path, and a deletion has no content")
	}
	return w, nil
}

type writeFile struct{ ws *workspace }

func (t *writeFile) Spec() Spec {
	return Spec{
		Name: "write_file", ID: "write_file", Kind: KindWrite, Idempotent: true,
		Description: "Writes a whole text file of the workspace, new or in place of what is there. Folders are made as needed.",
		Parameters: parameters(2,
			stringParam("path", "the file, relative to the workspace"),
			stringParam("content", "the whole content")),
	}
}

func (t *writeFile) Prepare(ctx context.Context, arguments payload.Value) (Write, error) {
	real, err := t.ws.resolveToWrite(arguments.Get("path").Text())
	if err != nil {
		return Write{}, err
	}
	base, err := t.ws.base(real)
	if err != nil {
		return Write{}, err
	}
	w := Write{Path: real, Kind: Save, Content: arguments.Get("content").Text(), BaseHash: base.hash}
	if !base.exists {
		w.Kind = Create
	}
	return w, checkContent(w)
}

func (t *writeFile) Commit(ctx context.Context, w Write) Result { return t.ws.commit(ctx, w) }

func (t *writeFile) Call(ctx context.Context, call Invocation) Result {
	return callWriter(ctx, t, call)
}

func checkContent(w Write) error {
	switch {
	case len(w.Content) > maxFile:
		return fmt.Errorf("the new content of %s is longer than %d MiB", w.Path, maxFile>>20)
	case !utf8.ValidString(w.Content):
		return fmt.Errorf("the new content of %s isn't UTF-8 text", w.Path)
	}
	return nil
}

// base is what a file held when it was looked at.
type base struct {
	exists  bool
	hash    string
	content []byte
	mode    fs.FileMode
}

// base reads a file that is to change. One that isn't there is no error.
func (ws *workspace) base(real string) (base, error) {
	f, info, err := ws.openFile(real)
	if errors.Is(err, fs.ErrNotExist) {
		return base{}, nil
	}
	if err != nil {
		return base{}, err
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return base{}, ws.because(real, err)
	}
	if len(content) > maxFile {
		return base{}, fmt.Errorf("%s is larger than %d MiB, which is too large to be changed by this tool", real, maxFile>>20)
	}
	return base{exists: true, hash: hash(content), content: content, mode: info.Mode().Perm()}, nil
}

func hash(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// commit makes a change last: whole and on the disk, or not at all.
func (ws *workspace) commit(ctx context.Context, w Write) Result {
	ws.writing.Lock()
	defer ws.writing.Unlock()
	if ctx.Err() != nil {
		return ended(ctx)
	}
	created, err := ws.apply(w)
	if err != nil {
		status := Failed
		if errors.Is(err, errUnsure) {
			status = Unknown
		}
		return failure(status, err, text("path", w.Path), text("kind", string(w.Kind)))
	}
	fields := []payload.Field{text("path", w.Path), text("kind", string(w.Kind)), flag("created", created)}
	if w.Kind != Delete {
		fields = append(fields, integer("bytes", int64(len(w.Content))))
	}
	return success(fields...)
}

func (ws *workspace) apply(w Write) (created bool, err error) {
	// The links may have changed since Prepare, and the path may come from a journal.
	real, err := ws.resolveToWrite(w.Path)
	if err != nil {
		return false, err
	}
	if real != w.Path {
		return false, fmt.Errorf("%s now stands for %s: %w; prepare the change again", w.Path, real, ErrBaseChanged)
	}
	if err := checkContent(w); err != nil {
		return false, err
	}
	now, err := ws.base(real)
	switch {
	case err != nil:
		return false, err
	case w.Kind == Delete && !now.exists, w.Kind != Delete && now.exists && now.hash == hash([]byte(w.Content)):
		// It is done already, perhaps by this very write before a crash.
		return w.Kind == Create, ws.lasting(real, path.Dir(real))
	case now.hash != w.BaseHash:
		return false, fmt.Errorf("%s wasn't changed: %w, and the change was made for what it held before; read it and try again", real, ErrBaseChanged)
	case w.Kind == Delete:
		if err := ws.Remove(real); err != nil {
			return false, ws.because(real, err)
		}
		return false, ws.lasting(real, path.Dir(real))
	}
	return !now.exists, ws.replace(real, w, now)
}

// replace puts a new content in the place of an old one through a file beside it.
func (ws *workspace) replace(real string, w Write, now base) (err error) {
	dir := path.Dir(real)
	if err := ws.makeDirs(dir); err != nil {
		return err
	}
	temp := path.Join(dir, ".agentd-"+rand.Text()+".tmp")
	defer func() {
		if err != nil {
			ws.Remove(temp)
		}
	}()
	if err := ws.writeTemp(temp, w.Content, now); err != nil {
		return ws.because(real, err)
	}
	if !now.exists {
		// A link, unlike a rename, never takes the place of a file that somebody made just now.
		switch err := ws.Link(temp, real); {
		case err == nil:
			ws.Remove(temp)
			return ws.lasting(real, dir)
		case errors.Is(err, fs.ErrExist):
			return fmt.Errorf("%s wasn't written: %w, somebody has made it; read it and try again", real, ErrBaseChanged)
		} // not every file system has links
	}
	again, err := ws.base(real)
	if err != nil {
		return err
	}
	if again.hash != w.BaseHash {
		return fmt.Errorf("%s wasn't changed: %w; read it and try again", real, ErrBaseChanged)
	}
	if err := ws.Rename(temp, real); err != nil {
		return ws.because(real, err)
	}
	return ws.lasting(real, dir)
}

// writeTemp writes a file that is on the disk when it returns, with the permissions of the old one.
func (ws *workspace) writeTemp(temp, content string, old base) error {
	mode := old.mode
	if !old.exists {
		mode = 0o666 // less what the umask takes off
	}
	f, err := ws.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.WriteString(content)
	if err == nil && old.exists {
		err = f.Chmod(mode)
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// makeDirs makes the folders that are missing, and makes them last.
func (ws *workspace) makeDirs(dir string) error {
	here := "."
	for _, name := range strings.Split(dir, "/") {
		parent := here
		here = path.Join(here, name)
		info, err := ws.Lstat(here)
		switch {
		case err == nil && !info.IsDir():
			return fmt.Errorf("%s is a file, so nothing can be in it", here)
		case err == nil:
			continue
		case !errors.Is(err, fs.ErrNotExist):
			return ws.because(here, err)
		}
		if err := ws.Mkdir(here, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
			return ws.because(here, err)
		}
		if err := ws.syncDir(parent); err != nil {
			return ws.because(parent, err)
		}
	}
	return nil
}

// lasting waits until a change of a folder is on the disk.
func (ws *workspace) lasting(real, dir string) error {
	if err := ws.syncDir(dir); err != nil {
		return fmt.Errorf("%s was changed, but %w: %v", real, errUnsure, err)
	}
	return nil
}
