import type { LookupFunction } from 'node:net'
import type { Address, ResolveName } from '../../platform/net/resolve-name.ts'

export type NameAddressesOptions = {
  readonly resolve: ResolveName
  readonly tickMs: () => number
  /** Called when the new addresses have no address in common with the previous addresses. */
  readonly onMoved: () => void
}

/** Age at which addresses are resolved again. The system resolver reports no TTL. Milliseconds. */
export const RESOLVE_EVERY_MS = 5_000
/** Maximum wait for the name service if the cache has addresses. Milliseconds. */
const STALE_TIMEOUT_MS = 500

/**
 * Cached addresses of one name. At most one lookup of the name runs at a time, so a name service that does not respond
 * blocks only one thread for this name. After a failed lookup, the cached addresses stay in use.
 */
export class NameAddresses {
  readonly #hostname: string
  readonly #options: NameAddressesOptions
  #known: readonly Address[] = []
  #knownSinceMs = Number.NEGATIVE_INFINITY
  #flight: Promise<void> | undefined
  #turn = 0

  constructor(hostname: string, options: NameAddressesOptions) {
    this.#hostname = hostname
    this.#options = options
  }

  /** Replaces `dns.lookup` for connections to this name. */
  readonly lookup: LookupFunction = (_hostname, options, callback) => {
    const give = (error: unknown): void => {
      const family = options.family === 'IPv4' ? 4 : options.family === 'IPv6' ? 6 : (options.family ?? 0)
      const found = this.#rotatedAddresses().filter((one) => family === 0 || one.family === family)
      const [first] = found
      if (first === undefined) callback(toError(error, this.#hostname), '', 0)
      else if (options.all === true) callback(null, [...found])
      else callback(null, first.address, first.family)
    }
    const age = this.#options.tickMs() - this.#knownSinceMs
    if (age < RESOLVE_EVERY_MS) return give(undefined)
    this.#refreshed().then(give, give)
  }

  /** Resolves the name now. Never rejects: a failed lookup keeps the cached addresses. */
  async refresh(): Promise<void> {
    await this.#resolve().catch(() => undefined)
  }

  #refreshed(): Promise<void> {
    const resolving = this.#resolve()
    if (this.#known.length === 0) return resolving
    let timer: NodeJS.Timeout | undefined
    const timeout = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, STALE_TIMEOUT_MS)
    })
    return Promise.race([resolving, timeout]).finally(() => clearTimeout(timer))
  }

  #resolve(): Promise<void> {
    this.#flight ??= this.#options
      .resolve(this.#hostname)
      .then((addresses) => this.#learned(addresses))
      .finally(() => {
        this.#flight = undefined
      })
    return this.#flight
  }

  #learned(addresses: readonly Address[]): void {
    if (addresses.length === 0) return
    const before = this.#known
    this.#known = addresses
    this.#knownSinceMs = this.#options.tickMs()
    const stayed = before.some((one) => addresses.some(({ address }) => address === one.address))
    if (before.length > 0 && !stayed) this.#options.onMoved()
  }

  /** Rotates the addresses, so that each connection tries a different address first. */
  #rotatedAddresses(): readonly Address[] {
    if (this.#known.length < 2) return this.#known
    this.#turn = (this.#turn + 1) % this.#known.length
    return [...this.#known.slice(this.#turn), ...this.#known.slice(0, this.#turn)]
  }
}

function toError(error: unknown, hostname: string): NodeJS.ErrnoException {
  if (error instanceof Error) return error
  return Object.assign(new Error(`${hostname} has no address`), { code: 'ENOTFOUND' })
}
