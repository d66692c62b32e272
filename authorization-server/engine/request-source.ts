import { networkOf } from '../../runtime/network-of.ts'
import type { ArtifactSource } from '../store/store.ts'

/** Returns the source that the bounds count a request for. */
export function requestSource({ clientAddress }: { readonly clientAddress: string }): ArtifactSource {
  return { address: networkOf(clientAddress), network: networkOf(clientAddress, 48) }
}
