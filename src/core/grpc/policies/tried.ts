/**
 * The instances that a call has tried already, so that a retry goes elsewhere.
 *
 * They are kept on the pick information, which grpc-js makes anew for each call and hands to all of its attempts. The
 * metadata's options are shared by all attempts too, but also by all calls of a program that reuses one Metadata.
 */
const tried = Symbol('lbctl.tried');

interface PickInfo {
  [tried]?: string[];
}

export function triedBy(pickInfo: object): readonly string[] | undefined {
  return (pickInfo as PickInfo)[tried];
}

export function addTried(pickInfo: object, address: string): void {
  const addresses = (pickInfo as PickInfo)[tried];
  if (addresses !== undefined) addresses.push(address);
  else if (Object.isExtensible(pickInfo)) (pickInfo as PickInfo)[tried] = [address];
}
