/**
 * The messages of etcd's v3 API as proto-loader hands them over: snake_case, int64 as decimal strings, enums by name
 * (an unknown value stays a number), bytes as Buffers, every scalar present, the members of a oneof only when set.
 * Source: etcd api/etcdserverpb/rpc.proto.
 */

export interface WireHeader {
  readonly cluster_id?: string;
  readonly member_id?: string;
  readonly revision: number;
  readonly raft_term?: number;
}

export interface WireKeyValue {
  readonly key: Buffer;
  readonly value: Buffer;
  readonly create_revision: number;
  readonly mod_revision: number;
  readonly version: number;
  readonly lease: string;
}

export interface RangeRequest {
  readonly key: Buffer;
  readonly range_end: Buffer;
  readonly limit: string;
  readonly revision: string;
  readonly sort_order: 'None' | 'Ascend' | 'Descend' | number;
  readonly sort_target: 'Key' | 'Version' | 'Create' | 'Mod' | 'Value' | number;
  readonly keys_only: boolean;
  readonly count_only: boolean;
  readonly min_mod_revision: string;
  readonly max_mod_revision: string;
  readonly min_create_revision: string;
  readonly max_create_revision: string;
}

export interface RangeResponse {
  readonly header: WireHeader;
  readonly kvs: readonly WireKeyValue[];
  readonly more: boolean;
  readonly count: number;
}

export interface PutRequest {
  readonly key: Buffer;
  readonly value: Buffer;
  readonly lease: string;
  readonly prev_kv: boolean;
  readonly ignore_value: boolean;
  readonly ignore_lease: boolean;
}

export interface PutResponse {
  readonly header: WireHeader;
  readonly prev_kv: WireKeyValue | null;
}

export interface DeleteRangeRequest {
  readonly key: Buffer;
  readonly range_end: Buffer;
  readonly prev_kv: boolean;
}

export interface DeleteRangeResponse {
  readonly header: WireHeader;
  readonly deleted: number;
  readonly prev_kvs: readonly WireKeyValue[];
}

export interface RequestOp {
  readonly request_range?: RangeRequest;
  readonly request_put?: PutRequest;
  readonly request_delete_range?: DeleteRangeRequest;
  readonly request_txn?: TxnRequest;
}

export type ResponseOp =
  | { readonly response_range: RangeResponse }
  | { readonly response_put: PutResponse }
  | { readonly response_delete_range: DeleteRangeResponse }
  | { readonly response_txn: TxnResponse };

export interface Compare {
  readonly key: Buffer;
  readonly range_end: Buffer;
  readonly result: 'Equal' | 'Greater' | 'Less' | 'NotEqual' | number;
  readonly target: 'Version' | 'Create' | 'Mod' | 'Value' | 'Lease' | number;
  readonly version?: string;
  readonly create_revision?: string;
  readonly mod_revision?: string;
  readonly value?: Buffer;
  readonly lease?: string;
}

export interface TxnRequest {
  readonly compare: readonly Compare[];
  readonly success: readonly RequestOp[];
  readonly failure: readonly RequestOp[];
}

export interface TxnResponse {
  readonly header: WireHeader;
  readonly succeeded: boolean;
  readonly responses: readonly ResponseOp[];
}

export interface CompactionRequest {
  readonly revision: string;
}

export interface WatchCreateRequest {
  readonly key: Buffer;
  readonly range_end: Buffer;
  readonly start_revision: string;
  readonly progress_notify: boolean;
  readonly filters: ReadonlyArray<'Noput' | 'Nodelete' | number>;
  readonly prev_kv: boolean;
  readonly watch_id: string;
  readonly fragment: boolean;
}

export interface WatchRequest {
  readonly create_request?: WatchCreateRequest;
  readonly cancel_request?: { readonly watch_id: string };
  readonly progress_request?: object;
}

export interface WireEvent {
  readonly type: 'Put' | 'Delete';
  readonly kv: WireKeyValue;
  readonly prev_kv: WireKeyValue | null;
}

export interface WatchResponse {
  readonly header: WireHeader;
  readonly watch_id: string;
  readonly created?: boolean;
  readonly canceled?: boolean;
  readonly compact_revision?: number;
  readonly cancel_reason?: string;
  readonly fragment?: boolean;
  readonly events?: readonly WireEvent[];
}

export interface LeaseGrantRequest {
  readonly TTL: string;
  readonly ID: string;
}

export interface LeaseIdRequest {
  readonly ID: string;
}

export interface LeaseTimeToLiveRequest {
  readonly ID: string;
  readonly keys: boolean;
}
