// A server and a client of etcd's own gRPC naming (go.etcd.io/etcd/client/v3/naming).
//
//	naming server '{"etcd":"127.0.0.1:2379","service":"greeter"}'
//	naming client '{"etcd":"127.0.0.1:2379","service":"greeter","rps":200,"timeoutMs":2000}'
package main

import (
	"context"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/naming/endpoints"
	"go.etcd.io/etcd/client/v3/naming/resolver"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"lbctl.test/echo"
)

const ttlSeconds = 10

func main() {
	switch os.Args[1] {
	case "server":
		serve()
	case "client":
		call()
	}
}

func serve() {
	var settings echo.Settings
	echo.Parse(&settings)
	server := echo.NewServer(settings)
	listener, err := net.Listen("tcp", server.Address)
	echo.Must(err)
	transport := grpc.NewServer()
	server.Register(transport)
	go func() { echo.Must(transport.Serve(listener)) }()

	client := connect(settings.Etcd)
	ctx := context.Background()
	lease, err := client.Grant(ctx, ttlSeconds)
	echo.Must(err)
	alive, err := client.KeepAlive(ctx, lease.ID)
	echo.Must(err)
	go func() {
		for range alive {
		}
	}()
	manager, err := endpoints.NewManager(client, settings.Service)
	echo.Must(err)
	key := settings.Service + "/" + server.Address
	echo.Must(manager.AddEndpoint(ctx, key, endpoints.Endpoint{Addr: server.Address}, clientv3.WithLease(lease.ID)))
	go server.Steer()

	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGTERM)
	<-asked
	echo.Must(manager.DeleteEndpoint(ctx, key))
	transport.GracefulStop()
}

func call() {
	var settings echo.ClientSettings
	echo.Parse(&settings)
	builder, err := resolver.NewBuilder(connect(settings.Etcd))
	echo.Must(err)
	conn, err := grpc.NewClient("etcd:///"+settings.Service, grpc.WithResolvers(builder),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultServiceConfig(`{"loadBalancingConfig":[{"round_robin":{}}]}`))
	echo.Must(err)
	client := echo.Client{Conn: conn, Settings: settings}
	client.Run()
}

func connect(etcd string) *clientv3.Client {
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{etcd}, DialTimeout: 5 * time.Second})
	echo.Must(err)
	return client
}
