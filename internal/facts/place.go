// Package facts reads what hooks need to know and can't look up themselves.
package facts

import (
	"context"
	"strings"
	"unicode/utf8"

	"agentd/hookpoints/payload"
)

// Options say what a path is held against.
type Options struct {
	// Root is the folder that Inside is about, absolute, under any of its names. Without one nothing
	// is inside.
	Root string

	// Search is how many entries of Root are looked at for other names of the same file: 20,000 if 0,
	// none if negative.
	Search int
}

const defaultSearch = 20_000

// What [Place.Kernel] says beside the names of errno values.
const (
	OK      = "ok"
	NUL     = "NUL"     // the path holds a zero byte, which no system call can pass
	Unknown = "unknown" // only the process that opens the path can tell, or nobody can
)

// Place is where a path leads.
type Place struct {
	// Real is the absolute name, free of links and dots, of what opening the path opens, or of what
	// opening it to create would make. "" if neither can happen, and if it can't be told.
	Real string

	// Entry is the name that removing, renaming or making a link acts on: Real, but for a path that
	// ends in a link the link itself. "" where Real is.
	Entry string

	// Inside and EntryInside tell whether Real and Entry are Root or lie under it, by name: a file
	// can have other names, see Links. Both are false for "".
	Inside, EntryInside bool

	// Kernel is what opening the path says now: OK, an errno by name (ENOENT, ENOTDIR, ELOOP,
	// ENAMETOOLONG ...), NUL or Unknown. Whether the file's permissions allow it isn't asked.
	Kernel string

	// Exists tells that something is at Real. It can be true with ENOENT: nosuch/../a.txt has no
	// other place than a.txt, but isn't opened.
	Exists bool

	// Creatable tells that nothing is at Real and that opening this very path to create makes a file
	// there, as soon as Real's folders exist. It is false for nosuch/../new.txt, and for what only a
	// folder can be called.
	Creatable bool

	// Links is how many names the file has, 1 for most, 0 for a folder and where nothing is. With
	// more names than SameFileAs has and one, the file has names outside of Root, or such as weren't
	// found.
	Links int

	// SameFileAs are other names of the same file in Root, sorted.
	SameFileAs []string

	// Reason says in a few words what Kernel and the other fields leave open, "" if nothing.
	Reason string
}

// Real follows a path as the kernel does for a process whose working directory is cwd: link by link
// and name by name, dots after links, at most 40 links. It reads names and links only, opens nothing
// but the folders that it searches, and decodes nothing: ~, $HOME, file: and %2e are ordinary
// characters here.
//
// What a link of /proc/self means is told for cwd and root; what the others stand for (exe, fd,
// ns, those of other processes) depends on who asks, and is Unknown.
//
// The answer holds for the moment at which each name was read. Whoever may write to a folder on the
// way can change it before the path is used: a guard's yes is as good as the folder's permissions,
// and only a use that holds on to what it checked (as the file tools do, with handles) is safe from
// others. Bind mounts give folders further names, which aren't looked for.
func Real(ctx context.Context, path, cwd string, o Options) Place {
	return real(ctx, system{}, path, cwd, o)
}

func real(ctx context.Context, d disk, path, cwd string, o Options) Place {
	d = &remembering{disk: d, seen: map[string]looked{}}
	w := walker{disk: d}
	w.setCwd(cwd)
	end := w.follow(path)
	p := Place{Kernel: end.kernel, Reason: end.reason}
	if end.nowhere {
		return p
	}
	p.Real, p.Entry = end.at.name(), end.entry
	if p.Entry == "" {
		p.Entry = p.Real
	}
	last := end.at.last()
	p.Exists = !last.missing
	p.Creatable = last.missing && !end.detour() && !end.folder
	root := ""
	if o.Root != "" {
		w := walker{disk: d} // without a working directory, so that a relative one leads nowhere
		if r := w.follow(o.Root); !r.nowhere {
			root = r.at.name()
			p.Inside, p.EntryInside = within(root, p.Real), within(root, p.Entry)
		} else {
			p.Reason = join(p.Reason, "the root can't be resolved, so nothing counts as inside")
		}
	}
	if p.Exists && !last.folder {
		p.Links = last.id.links
		if p.Links > 1 && root != "" && o.Search >= 0 {
			var cut string
			p.SameFileAs, cut = otherNames(ctx, d, root, p.Real, last.id, o.Search)
			p.Reason = join(p.Reason, cut)
		}
	}
	return p
}

// within tells whether a clean absolute name is root or lies under it.
func within(root, name string) bool {
	return name == root || strings.HasPrefix(name, strings.TrimSuffix(root, "/")+"/")
}

func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "; " + b
}

// Value is the place as scripts see it: an object of real, entry (null for ""), inside, entry_inside,
// kernel, exists, creatable, links, same_file_as and reason. A name that is no Unicode text can't be
// told to a script, and becomes null.
func (p Place) Value() payload.Value {
	reason := p.Reason
	name := func(s string) payload.Value {
		if s == "" {
			return payload.NewNull()
		}
		if !utf8.ValidString(s) {
			reason = join(p.Reason, "a name is no Unicode text")
			return payload.NewNull()
		}
		return payload.NewString(s)
	}
	others := make([]payload.Value, 0, len(p.SameFileAs))
	for _, s := range p.SameFileAs {
		others = append(others, name(s))
	}
	fields := []payload.Field{
		{Name: "real", Value: name(p.Real)},
		{Name: "entry", Value: name(p.Entry)},
		{Name: "inside", Value: payload.NewBool(p.Inside)},
		{Name: "entry_inside", Value: payload.NewBool(p.EntryInside)},
		{Name: "kernel", Value: payload.NewString(p.Kernel)},
		{Name: "exists", Value: payload.NewBool(p.Exists)},
		{Name: "creatable", Value: payload.NewBool(p.Creatable)},
		{Name: "links", Value: payload.NewInt(int64(p.Links))},
		{Name: "same_file_as", Value: payload.NewArray(others)},
	}
	return payload.NewObject(append(fields, payload.Field{Name: "reason", Value: payload.NewString(strings.ToValidUTF8(reason, "\ufffd"))})...)
}
