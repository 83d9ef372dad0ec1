package main

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/server/v3/embed"
	"k8s.io/klog/v2"
)

// socketPath is where etcd listens: a socket in the directory needs no port and is nobody else's.
func socketPath(dir string) string { return filepath.Join(dir, "etcd.sock") }

// startEtcd starts etcd in this process and returns the endpoint under which the API server finds it.
func startEtcd(ctx context.Context, dir string) (string, error) {
	endpoint := url.URL{Scheme: "unix", Path: socketPath(dir)}
	// etcd insists on addresses to tell other members and clients, though none will ever ask.
	unused := []url.URL{{Scheme: "http", Host: "127.0.0.1:0"}}

	config := embed.NewConfig()
	config.Dir = filepath.Join(dir, "etcd")
	config.LogLevel = "fatal"
	config.UnsafeNoFsync = true // the data need not survive a power cut
	config.ListenClientUrls = []url.URL{endpoint}
	config.AdvertiseClientUrls = unused
	config.ListenPeerUrls = unused
	config.AdvertisePeerUrls = unused
	config.InitialCluster = config.InitialClusterFromName(config.Name)

	server, err := embed.StartEtcd(config)
	if err != nil {
		return "", fmt.Errorf("etcd: %w", err)
	}
	select {
	case <-server.Server.ReadyNotify():
		go compactWhenAsked(server)
		return endpoint.String(), nil
	case err := <-server.Err():
		return "", fmt.Errorf("etcd: %w", err)
	case <-ctx.Done():
		return "", fmt.Errorf("etcd: %w", context.Cause(ctx))
	}
}

// compactWhenAsked drops the history of all objects at each SIGUSR1, so that what begins at an older version finds it gone.
func compactWhenAsked(server *embed.Etcd) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGUSR1)
	for range signals {
		request := &etcdserverpb.CompactionRequest{Revision: server.Server.KV().Rev(), Physical: true}
		if _, err := server.Server.Compact(context.Background(), request); err != nil {
			klog.ErrorS(err, "compaction")
		}
	}
}
