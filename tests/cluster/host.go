package cluster

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// programsVariable names the environment variable that holds the folder of Kubernetes' programs.
const programsVariable = "FAIRLEAD_CLUSTER_PROGRAMS"

// Missing says what this machine lacks to run a cluster, each with what to do about it.
func Missing() []string {
	var missing []string
	need := func(ok bool, what string) {
		if !ok {
			missing = append(missing, what)
		}
	}
	need(os.Geteuid() == 0, "it makes namespaces and mounts; run it as root")
	programs := os.Getenv(programsVariable)
	need(programs != "", "the programs are not named; run it through ./dev test cluster, which builds them")
	for _, tool := range []struct{ program, pkg string }{{"runc", "runc"}, {"ip", "iproute2"}} {
		_, err := exec.LookPath(tool.program)
		need(err == nil, fmt.Sprintf("%s is missing; install the package %s", tool.program, tool.pkg))
	}
	for _, file := range []struct{ path, pkg string }{
		{"/usr/lib/cni/bridge", "containernetworking-plugins"},
		{"/bin/busybox", "busybox-static"},
	} {
		_, err := os.Stat(file.path)
		need(err == nil, fmt.Sprintf("%s is missing; install the package %s", file.path, file.pkg))
	}
	_, err := findHierarchies()
	need(err == nil, fmt.Sprint(err))
	return missing
}

// CacheDir is where programs and logs are kept, outside the checkout.
func CacheDir() string {
	if dir := os.Getenv("FAIRLEAD_CACHE"); dir != "" {
		return dir
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		dir = "/var/cache"
	}
	return filepath.Join(dir, "fairlead")
}

// removeOldLogs removes the logs of clusters that failed more than a day ago.
func removeOldLogs() {
	logs, _ := filepath.Glob(filepath.Join(CacheDir(), "logs", "*"))
	for _, dir := range logs {
		info, err := os.Stat(dir)
		_, missing := os.Stat(clusterDir(filepath.Base(dir)))
		if err == nil && missing != nil && time.Since(info.ModTime()) > 24*time.Hour {
			os.RemoveAll(dir)
		}
	}
}

func writeSecret(path string, content []byte) error { return os.WriteFile(path, content, 0o600) }
