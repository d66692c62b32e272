import type { Cleanup } from '../cleanup.ts'
import type { Target } from '../load/load.ts'

/** What a peer from the system's packages is started with. */
export type PeerOptions = {
  readonly cores: string | undefined
  readonly folder: string
  readonly cleanup: Cleanup
  /** Address of what stands behind it. */
  readonly upstream: string
  /** What it is asked for; the origin of its `url` is replaced by that of the peer. */
  readonly target: Target
}
