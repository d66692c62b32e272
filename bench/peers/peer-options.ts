import type { Cleanup } from '../cleanup.ts'
import type { Target } from '../load/load.ts'

/** Options to start a peer that is installed as a system package. */
export type PeerOptions = {
  readonly cores: string | undefined
  readonly folder: string
  readonly cleanup: Cleanup
  /** Address of the upstream of the peer. */
  readonly upstream: string
  /** The request to the peer. The origin of the peer replaces the origin of `url`. */
  readonly target: Target
}
