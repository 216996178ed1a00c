// Package echo is the test.Echo service of test/fixtures/echo.proto and what every program around it needs: a server
// that counts its calls, and a client that calls at a rate. It knows nothing of any framework.
package echo

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

const sayMethod = "/test.Echo/Say"

// The messages are built from a descriptor, so that no generated code has to be kept in step with the .proto file.
var (
	requestType  = message("EchoRequest", "text")
	responseType = message("EchoResponse", "text", "server")
)

// message describes a proto3 message whose fields are all strings, numbered from 1.
func message(name string, fields ...string) protoreflect.MessageDescriptor {
	described := &descriptorpb.DescriptorProto{Name: &name}
	for i, field := range fields {
		described.Field = append(described.Field, &descriptorpb.FieldDescriptorProto{
			Name:   proto.String(field),
			Number: proto.Int32(int32(i + 1)),
			Type:   descriptorpb.FieldDescriptorProto_TYPE_STRING.Enum(),
			Label:  descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(),
		})
	}
	file, err := protodesc.NewFile(&descriptorpb.FileDescriptorProto{
		Name:        proto.String(name + ".proto"),
		Package:     proto.String("test"),
		Syntax:      proto.String("proto3"),
		MessageType: []*descriptorpb.DescriptorProto{described},
	}, protoregistry.GlobalFiles)
	if err != nil {
		panic(err)
	}
	return file.Messages().Get(0)
}

func text(of *dynamicpb.Message, field protoreflect.Name) string {
	return of.Get(of.Descriptor().Fields().ByName(field)).String()
}

func setText(of *dynamicpb.Message, field protoreflect.Name, value string) {
	of.Set(of.Descriptor().Fields().ByName(field), protoreflect.ValueOfString(value))
}

// say calls test.Echo/Say and answers which instance answered.
func say(ctx context.Context, conn grpc.ClientConnInterface) (string, error) {
	request := dynamicpb.NewMessage(requestType)
	setText(request, "text", "hello")
	response := dynamicpb.NewMessage(responseType)
	if err := conn.Invoke(ctx, sayMethod, request, response); err != nil {
		return "", err
	}
	return text(response, "server"), nil
}

// Register adds the service to a gRPC server.
func (s *Server) Register(registrar grpc.ServiceRegistrar) {
	registrar.RegisterService(&grpc.ServiceDesc{
		ServiceName: "test.Echo",
		HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{{
			MethodName: "Say",
			Handler: func(_ any, ctx context.Context, decode func(any) error, intercept grpc.UnaryServerInterceptor) (any, error) {
				request := dynamicpb.NewMessage(requestType)
				if err := decode(request); err != nil {
					return nil, err
				}
				if intercept == nil {
					return s.say(ctx, request)
				}
				info := &grpc.UnaryServerInfo{Server: s, FullMethod: sayMethod}
				return intercept(ctx, request, info, s.say)
			},
		}},
	}, s)
}
