package reload

import (
	"log/slog"
	"os"
	"slices"

	"github.com/fsnotify/fsnotify"
)

// notifier turns what the system reports about folders into hints. The zero notifier reports nothing.
type notifier struct {
	fs      *fsnotify.Watcher
	log     *slog.Logger
	hints   chan struct{} // holds one hint, which stands for any number
	watched map[string]os.FileInfo
	short   bool // the log knows that not all folders could be watched
	done    chan struct{}
}

func newNotifier(log *slog.Logger) (*notifier, error) {
	fs, err := fsnotify.NewBufferedWatcher(256)
	if err != nil {
		return nil, err
	}
	n := &notifier{fs: fs, log: log, hints: make(chan struct{}, 1), watched: map[string]os.FileInfo{}, done: make(chan struct{})}
	go n.pump()
	return n, nil
}

func (n *notifier) close() {
	if n.fs == nil {
		return
	}
	n.fs.Close()
	<-n.done
}

// pump runs until the watcher is closed. A change of mode or times alone is no hint; an error is one:
// the queue has run over, so something was missed.
func (n *notifier) pump() {
	defer close(n.done)
	events, errs := n.fs.Events, n.fs.Errors
	for events != nil || errs != nil {
		select {
		case e, ok := <-events:
			if !ok {
				events = nil
				continue
			}
			if e.Op == fsnotify.Chmod {
				continue
			}
		case err, ok := <-errs:
			if !ok {
				errs = nil
				continue
			}
			n.log.Debug("watching folders", "err", err)
		}
		select {
		case n.hints <- struct{}{}:
		default:
		}
	}
}

// follow watches exactly these folders. All are added every time: a folder that was removed and made
// again has the same name, and no watch any more.
func (n *notifier) follow(folders []string) (more bool) {
	if n.fs == nil {
		return false
	}
	for path := range n.watched {
		if _, wanted := slices.BinarySearch(folders, path); !wanted {
			n.fs.Remove(path) // fails if the folder is gone, and with it the watch
			delete(n.watched, path)
		}
	}
	for _, path := range folders {
		info, err := os.Stat(path)
		if err == nil {
			err = n.fs.Add(path)
		}
		if err != nil {
			if !gone(err) && !n.short {
				n.short = true
				n.log.Warn("a folder can't be watched, only polled", "folder", path, "err", err)
			}
			delete(n.watched, path)
			continue
		}
		if old := n.watched[path]; old == nil || !os.SameFile(old, info) {
			n.watched[path] = info
			more = true
		}
	}
	return more
}
