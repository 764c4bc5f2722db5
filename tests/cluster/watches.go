package cluster

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// A kubelet and a containerd need some ten inotify instances, and a user has 128 by default. So the
// limit is raised while there are clusters with nodes; what it was before is kept beside them.

const (
	watchLimitFile   = "/proc/sys/fs/inotify/max_user_instances"
	formerLimitFile  = baseDir + "/inotify-instances"
	watchLimitNeeded = 1024
)

// allowWatches raises the limit if nodes are to run and it is too low for many of them.
func allowWatches(nodes int) error {
	now, err := readNumber(watchLimitFile)
	if err != nil || nodes == 0 || now >= watchLimitNeeded {
		return err
	}
	if err := os.WriteFile(formerLimitFile, []byte(strconv.Itoa(now)), 0o600); err != nil {
		return err
	}
	if err := os.WriteFile(watchLimitFile, []byte(strconv.Itoa(watchLimitNeeded)), 0); err != nil {
		return fmt.Errorf("raise the limit of inotify instances: %w; set fs.inotify.max_user_instances to %d", err, watchLimitNeeded)
	}
	return nil
}

// restoreWatches puts the limit back once no cluster is left.
func restoreWatches() {
	entries, _ := os.ReadDir(baseDir)
	if len(entries) != 1 || entries[0].Name() != filepath.Base(formerLimitFile) {
		return
	}
	if former, err := readNumber(formerLimitFile); err == nil {
		os.WriteFile(watchLimitFile, []byte(strconv.Itoa(former)), 0)
	}
	os.Remove(formerLimitFile)
}

func readNumber(path string) (int, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(text)))
}
