//go:build tools

// Package tools pins node feature discovery: the master that puts labels on Nodes, the worker that reads files, and their
// kinds. For tests/cluster/agent.
package tools

import (
	_ "sigs.k8s.io/node-feature-discovery/cmd/nfd-master"
	_ "sigs.k8s.io/node-feature-discovery/cmd/nfd-worker"
)
