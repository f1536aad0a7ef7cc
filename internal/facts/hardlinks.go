package facts

import (
	"context"
	"fmt"
	"slices"
)

// otherNames looks for further names of a file under root, and says where it had to stop early. It
// doesn't leave root's own file system, as a hard link can't.
func otherNames(ctx context.Context, d disk, root, known string, id identity, most int) (found []string, cut string) {
	if most == 0 {
		most = defaultSearch
	}
	if r, ok := d.(*remembering); ok {
		d = r.disk // of many names, each is looked at once anyway
	}
	unread := 0
	todo := []string{root}
	for len(todo) > 0 {
		dir := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		names, err := d.names(dir)
		if err != nil {
			unread++
			continue
		}
		for _, name := range names {
			if ctx.Err() != nil {
				return sorted(found), "the search for other names ran out of time"
			}
			if most--; most < 0 {
				return sorted(found), "the search for other names ended before its last folder"
			}
			full := slash(dir) + name
			info, err := d.lstat(full)
			if err != nil {
				continue
			}
			switch at := identify(info); {
			case at.dev != id.dev:
			case info.IsDir():
				todo = append(todo, full)
			case at.ino == id.ino && full != known:
				if found = append(found, full); len(found) == id.links-1 {
					return sorted(found), ""
				}
			}
		}
	}
	if unread > 0 {
		cut = fmt.Sprintf("%d folders couldn't be searched for other names", unread)
	}
	return sorted(found), cut
}

func sorted(names []string) []string { slices.Sort(names); return names }

func slash(dir string) string {
	if dir == "/" {
		return dir
	}
	return dir + "/"
}
