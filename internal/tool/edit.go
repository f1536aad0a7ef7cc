package tool

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"unicode/utf8"

	"agentd/hookpoints/payload"
)

type editFile struct{ ws *workspace }

func (t *editFile) Spec() Spec {
	return Spec{
		Name: "edit_file", ID: "edit_file", Kind: KindEdit, Idempotent: true,
		Description: "Replaces a piece of a text file of the workspace. The old text must be given exactly as it stands in the file and must occur once, unless all is true.",
		Parameters: parameters(3,
			stringParam("path", "the file, relative to the workspace"),
			stringParam("old", "the text to be replaced, with as many lines around it as make it unique", integer("minLength", 1)),
			stringParam("new", "what comes in its place"),
			boolParam("all", "replace every occurrence; default false")),
	}
}

func (t *editFile) Prepare(ctx context.Context, arguments payload.Value) (Write, error) {
	real, err := t.ws.resolveToWrite(arguments.Get("path").Text())
	if err != nil {
		return Write{}, err
	}
	base, err := t.ws.base(real)
	switch {
	case err != nil:
		return Write{}, err
	case !base.exists:
		return Write{}, t.ws.because(real, fs.ErrNotExist)
	case !utf8.Valid(base.content):
		return Write{}, fmt.Errorf("%s isn't UTF-8 text and can't be edited by this tool", real)
	}
	content, err := replaceText(string(base.content), arguments.Get("old").Text(), arguments.Get("new").Text(), arguments.Get("all").IsTrue())
	if err != nil {
		return Write{}, fmt.Errorf("%s wasn't changed: %w", real, err)
	}
	w := Write{Path: real, Kind: Patch, Content: content, BaseHash: base.hash}
	return w, checkContent(w)
}

func (t *editFile) Commit(ctx context.Context, w Write) Result { return t.ws.commit(ctx, w) }

func (t *editFile) Call(ctx context.Context, call Invocation) Result { return callWriter(ctx, t, call) }

func replaceText(content, old, new string, all bool) (string, error) {
	switch n := strings.Count(content, old); {
	case old == "":
		return "", errors.New("the old text is empty: write_file replaces a whole file")
	case old == new:
		return "", errors.New("the old and the new text are the same")
	case n == 0 && strings.Contains(content, "\r\n") && strings.Contains(strings.ReplaceAll(content, "\r\n", "\n"), old):
		return "", errors.New("its lines end in \\r\\n, and the old text's in \\n: write \\r\\n in both texts")
	case n == 0:
		return "", errors.New("the old text isn't in it: read the file and copy the text exactly, with its spaces")
	case all:
		return strings.ReplaceAll(content, old, new), nil
	case n > 1 || overlaps(content, old):
		return "", fmt.Errorf("the old text occurs %d times: give more lines around it, or set all to true", max(n, 2))
	}
	return strings.Replace(content, old, new, 1), nil
}

// overlaps finds occurrences that Count skips because they share characters with the one before.
func overlaps(content, old string) bool {
	at := strings.Index(content, old)
	return strings.Contains(content[at+1:], old)
}
