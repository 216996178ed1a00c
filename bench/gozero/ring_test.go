package hash_test

import (
	"fmt"
	"testing"

	"github.com/zeromicro/go-zero/core/hash"
)

func nodes(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("10.0.%d.%d:8080", i>>8, i&255)
	}
	return all
}

func BenchmarkRingBuild300(b *testing.B) {
	all := nodes(300)
	for i := 0; i < b.N; i++ {
		ring := hash.NewConsistentHash()
		for _, node := range all {
			ring.Add(node)
		}
	}
}

func BenchmarkRingPick300(b *testing.B) {
	ring := hash.NewConsistentHash()
	for _, node := range nodes(300) {
		ring.Add(node)
	}
	keys := make([]string, 20000)
	for i := range keys {
		keys[i] = fmt.Sprintf("user:%d", i)
	}
	b.ResetTimer()
	for i := 0; i < b.N; i++ {
		if _, ok := ring.Get(keys[i%len(keys)]); !ok {
			b.Fatal("no owner")
		}
	}
}
