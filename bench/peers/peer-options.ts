import type { Cleanup } from '../cleanup.ts'
import type { Target } from '../load/load.ts'

/** A peer is installed as a system package. */
export type PeerOptions = {
  readonly cores: string | undefined
  readonly folder: string
  readonly cleanup: Cleanup
  readonly upstream: string
  /** The request to the peer. The origin of the peer replaces the origin of `url`. */
  readonly target: Target
}
