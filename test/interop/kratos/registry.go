package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/go-kratos/kratos/v2/registry"
	clientv3 "go.etcd.io/etcd/client/v3"
)

const (
	namespace  = "/microservices"
	ttlSeconds = 15
	retryAfter = time.Second
)

// etcdRegistry does in etcd what kratos's own etcd registrar does, which is no module of its own version: one key an
// instance on a lease, registered again under the same key when the lease is lost, read by prefix on every event.
type etcdRegistry struct {
	client *clientv3.Client
	cancel context.CancelFunc
}

var (
	_ registry.Registrar = (*etcdRegistry)(nil)
	_ registry.Discovery = (*etcdRegistry)(nil)
)

func keyOf(service *registry.ServiceInstance) string {
	return fmt.Sprintf("%s/%s/%s", namespace, service.Name, service.ID)
}

func (r *etcdRegistry) Register(ctx context.Context, service *registry.ServiceInstance) error {
	alive, err := r.put(ctx, service)
	if err != nil {
		return err
	}
	background, cancel := context.WithCancel(context.Background())
	r.cancel = cancel
	go r.keep(background, service, alive)
	return nil
}

func (r *etcdRegistry) put(ctx context.Context, service *registry.ServiceInstance) (<-chan *clientv3.LeaseKeepAliveResponse, error) {
	value, err := json.Marshal(service)
	if err != nil {
		return nil, err
	}
	lease, err := r.client.Grant(ctx, ttlSeconds)
	if err != nil {
		return nil, err
	}
	if _, err = r.client.Put(ctx, keyOf(service), string(value), clientv3.WithLease(lease.ID)); err != nil {
		return nil, err
	}
	return r.client.KeepAlive(context.Background(), lease.ID)
}

// keep registers again whenever the lease is lost, until ctx ends.
func (r *etcdRegistry) keep(ctx context.Context, service *registry.ServiceInstance, alive <-chan *clientv3.LeaseKeepAliveResponse) {
	for {
		select {
		case <-ctx.Done():
			return
		case _, ok := <-alive:
			if ok {
				continue
			}
		}
		for ctx.Err() == nil {
			attempt, cancel := context.WithTimeout(ctx, 3*time.Second)
			again, err := r.put(attempt, service)
			cancel()
			if err == nil {
				alive = again
				break
			}
			time.Sleep(retryAfter)
		}
	}
}

func (r *etcdRegistry) Deregister(ctx context.Context, service *registry.ServiceInstance) error {
	r.cancel()
	_, err := r.client.Delete(ctx, keyOf(service))
	return err
}

// GetService reads by prefix WITHOUT a final slash and fails as a whole on one value that is no JSON, as kratos's does.
func (r *etcdRegistry) GetService(ctx context.Context, name string) ([]*registry.ServiceInstance, error) {
	response, err := r.client.Get(ctx, namespace+"/"+name, clientv3.WithPrefix())
	if err != nil {
		return nil, err
	}
	instances := make([]*registry.ServiceInstance, 0, len(response.Kvs))
	for _, kv := range response.Kvs {
		var instance registry.ServiceInstance
		if err := json.Unmarshal(kv.Value, &instance); err != nil {
			return nil, err
		}
		if instance.Name == name {
			instances = append(instances, &instance)
		}
	}
	return instances, nil
}

func (r *etcdRegistry) Watch(ctx context.Context, name string) (registry.Watcher, error) {
	ctx, cancel := context.WithCancel(ctx)
	events := r.client.Watch(ctx, namespace+"/"+name, clientv3.WithPrefix(), clientv3.WithKeysOnly())
	return &watcher{registry: r, name: name, ctx: ctx, cancel: cancel, events: events, first: true}, nil
}

type watcher struct {
	registry *etcdRegistry
	name     string
	ctx      context.Context
	cancel   context.CancelFunc
	events   clientv3.WatchChan
	first    bool
}

func (w *watcher) Next() ([]*registry.ServiceInstance, error) {
	if !w.first {
		select {
		case <-w.ctx.Done():
			return nil, w.ctx.Err()
		case <-w.events:
		}
	}
	w.first = false
	return w.registry.GetService(w.ctx, w.name)
}

func (w *watcher) Stop() error {
	w.cancel()
	return nil
}
