package p2c

import (
	"fmt"
	"testing"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/balancer/base"
	"google.golang.org/grpc/resolver"
)

type connection struct {
	balancer.SubConn
	id int
}

func BenchmarkPickAndDone(b *testing.B) {
	for _, n := range []int{3, 32, 300} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			ready := make(map[balancer.SubConn]base.SubConnInfo, n)
			for i := 0; i < n; i++ {
				address := fmt.Sprintf("10.0.%d.%d:8080", i>>8, i&255)
				ready[&connection{id: i}] = base.SubConnInfo{Address: resolver.Address{Addr: address}}
			}
			picker := new(p2cPickerBuilder).Build(base.PickerBuildInfo{ReadySCs: ready})
			b.ResetTimer()
			for i := 0; i < b.N; i++ {
				result, err := picker.Pick(balancer.PickInfo{})
				if err != nil {
					b.Fatal(err)
				}
				result.Done(balancer.DoneInfo{})
			}
		})
	}
}
