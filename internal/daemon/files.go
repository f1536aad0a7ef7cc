package daemon

import (
	"fmt"
	"path"
	"strings"

	"agentd/hookpoints"
	"agentd/internal/config"
	"agentd/internal/reload"
	"agentd/revision"
)

// roots are the folders of the layers that have files, lowest first.
func roots(p config.Places) (list []reload.Root, layers []hookpoints.Layer) {
	for _, l := range []hookpoints.Layer{hookpoints.User, hookpoints.Project} {
		if dir := p.LayerDir(l); dir != "" {
			list = append(list, reload.Root{Dir: dir, Match: counts, Descend: descends})
			layers = append(layers, l)
		}
	}
	return list, layers
}

// counts reports whether a file belongs to a layer.
func counts(rel string) bool {
	return rel == revision.ConfigFile || strings.HasPrefix(rel, revision.HooksDir) && (path.Ext(rel) == ".star" || path.Ext(rel) == ".lua")
}

// descends keeps out of the state folder, which changes all the time.
func descends(rel string) bool { return rel == "hooks" || strings.HasPrefix(rel, revision.HooksDir) }

// working reads the working files of a layer; none is no error.
func working(p config.Places, layer hookpoints.Layer) ([]revision.File, error) {
	dir := p.LayerDir(layer)
	if dir == "" {
		return nil, nil
	}
	s, err := reload.New([]reload.Root{{Dir: dir, Match: counts, Descend: descends}}, nil, reload.Options{}).Scan()
	if err != nil {
		return nil, fmt.Errorf("the %s layer: %w", layer, err)
	}
	return asFiles(s.Files), nil
}

func asFiles(list []reload.File) []revision.File {
	out := make([]revision.File, len(list))
	for i, f := range list {
		out[i] = revision.File{Path: f.Name, Text: f.Text}
	}
	return out
}
