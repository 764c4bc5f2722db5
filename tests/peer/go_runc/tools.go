//go:build tools

// Package tools pins a runc that can give Pods user namespaces, for tests/cluster/agent.
package tools

import _ "github.com/opencontainers/runc"
