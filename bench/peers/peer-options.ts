import type { Cleanup } from '../cleanup.ts'
import type { Target } from '../load/load.ts'

/** Options to start a peer from the system's packages. */
export type PeerOptions = {
  readonly cores: string | undefined
  readonly folder: string
  readonly cleanup: Cleanup
  /** Address of its upstream. */
  readonly upstream: string
  /** The request to the peer. The origin of the peer replaces the origin of `url`. */
  readonly target: Target
}
