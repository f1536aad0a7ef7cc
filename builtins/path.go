package builtins

import (
	"path"
	"strings"

	"agentd/hookpoints/payload"
)

// The path module is lexical: it never looks at a disk, so it can't know about links. What other
// programs read paths out of is in pathspell.go, what other file systems take for one name in
// pathfold.go.
func pathModule() []*Func {
	one := func(name, doc string, passes int64, f func(string) string) *Func {
		return New(name, doc, []Param{textParam("path")}, reads(passes, 1), func(a []payload.Value) (payload.Value, error) {
			return payload.NewString(f(a[0].Text())), nil
		})
	}
	return append([]*Func{
		one("path.base", "Returns the last element of a path.", 0, path.Base),
		one("path.clean", "Returns the shortest equal path, by resolving double slashes, single dots and double dots.", 1, path.Clean),
		one("path.dir", "Returns all but the last element of a path.", 1, path.Dir),
		one("path.ext", "Returns what follows the last dot of the last element, with the dot.", 0, path.Ext),
		New("path.inside", "Tells whether a name is base or lies under it, by the text alone; a relative name is never inside an absolute base, nor the other way round.",
			[]Param{textParam("base"), textParam("name")}, reads(2, 2), func(a []payload.Value) (payload.Value, error) {
				return payload.NewBool(pathInside(a[0].Text(), a[1].Text())), nil
			}),
		New("path.join", "Joins parts and cleans the result; an absolute part starts over, as it would for a program that opens it.",
			[]Param{listParam("parts")}, reads(2, 2), pathJoin),
		New("path.fold", "Returns the form in which two names are equal if a file system that ignores case, Unicode form or invisible characters could take one for the other.",
			[]Param{textParam("path")}, foldCharge, func(a []payload.Value) (payload.Value, error) {
				return payload.NewString(foldPath(a[0].Text())), nil
			}),
		New("path.same", "Tells whether some file system could take two names for the same, by their clean and folded text alone: good to deny by, not to allow by.",
			[]Param{textParam("a"), textParam("b")}, foldCharge, func(a []payload.Value) (payload.Value, error) {
				return payload.NewBool(samePath(a[0].Text(), a[1].Text())), nil
			}),
	}, spellings()...)
}

// pathJoin lets an absolute part win because that is what the system does with a path and a working
// directory: a guard that joined the two any other way would look at another file.
func pathJoin(args []payload.Value) (payload.Value, error) {
	parts, err := texts(args[0], "parts")
	if err != nil {
		return payload.Value{}, err
	}
	for i := len(parts) - 1; i > 0; i-- {
		if path.IsAbs(parts[i]) {
			parts = parts[i:]
			break
		}
	}
	return payload.NewString(path.Join(parts...)), nil
}

// pathInside compares what is left after the leading steps up. Two relative paths have the same
// unknown start: with fewer steps up than base, a name passes through elements of that start, and
// only a base that is nothing but steps up is sure to hold it.
func pathInside(base, name string) bool {
	if base == "" || name == "" || path.IsAbs(base) != path.IsAbs(name) {
		return false
	}
	if strings.ContainsRune(name, 0) { // opens nothing, or what a C program cuts it down to
		return false
	}
	baseUp, baseRest := stepsUp(path.Clean(base))
	nameUp, nameRest := stepsUp(path.Clean(name))
	if baseRest == "" {
		return nameUp <= baseUp
	}
	return nameUp == baseUp && (nameRest == baseRest || strings.HasPrefix(nameRest, baseRest+"/"))
}

// stepsUp splits a clean path into its leading ".." and the rest, "" for "." and "/".
func stepsUp(clean string) (up int, rest string) {
	rest = strings.TrimPrefix(clean, "/")
	for {
		switch {
		case rest == "..":
			return up + 1, ""
		case strings.HasPrefix(rest, "../"):
			up, rest = up+1, rest[len("../"):]
		case rest == ".":
			return up, ""
		default:
			return up, rest
		}
	}
}
