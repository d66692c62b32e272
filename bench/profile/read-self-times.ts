/** This file reads only these fields of a V8 CPU profile. Source: Chrome DevTools Protocol, Profiler.Profile. */
export type CpuProfile = {
  readonly nodes: readonly {
    readonly id: number
    readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number }
  }[]
  /** Start of the profile by the monotonic clock. Microseconds. */
  readonly startTime: number
  readonly samples: readonly number[]
  /** Time between a sample and the previous sample. Microseconds. */
  readonly timeDeltas: readonly number[]
}

/** CPU time in a function. Excludes the time in called functions. */
export type SelfTime = { readonly function: string; readonly location: string; readonly micros: number }

/**
 * Adds up the samples between two times of the monotonic clock. All times are in microseconds.
 * @returns the functions, longest time first. Includes V8 internals such as `(garbage collector)`, but not idle time.
 */
export function readSelfTimes(profile: CpuProfile, fromMicros: number, toMicros: number): SelfTime[] {
  const nodes = new Map(profile.nodes.map((node) => [node.id, node.callFrame]))
  const times = new Map<string, { function: string; location: string; micros: number }>()
  let clock = profile.startTime
  for (const [index, id] of profile.samples.entries()) {
    clock += profile.timeDeltas[index] ?? 0
    const frame = nodes.get(id)
    if (frame === undefined || clock < fromMicros || clock > toMicros || frame.functionName === '(idle)')
      continue
    // A sample represents the time until the next sample.
    const micros = profile.timeDeltas[index + 1] ?? 0
    const location = frame.url === '' ? '' : `${shortLocation(frame.url)}:${frame.lineNumber + 1}`
    const name = frame.functionName === '' ? '(anonymous)' : frame.functionName
    const key = `${name} ${location}`
    const known = times.get(key)
    if (known === undefined) times.set(key, { function: name, location, micros })
    else known.micros += micros
  }
  return [...times.values()].toSorted((a, b) => b.micros - a.micros)
}

/**
 * Returns the component of a location. Examples: a package such as `undici`, a folder such as `gateway/pipeline`,
 * `Node.js (JavaScript)`, `V8, libuv and the system`.
 */
export function partOf(location: string): string {
  if (location === '') return 'V8, libuv and the system'
  if (location.startsWith('node:')) return 'Node.js (JavaScript)'
  const dependency = /^node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(location)?.[1]
  return dependency ?? location.split('/').slice(0, -1).join('/')
}

function shortLocation(url: string): string {
  const inDependency = url.lastIndexOf('node_modules/')
  if (inDependency !== -1) return url.slice(inDependency)
  const ours = /\/((?:gateway|oauth|runtime)\/.*)$/.exec(url)?.[1]
  return ours ?? url
}
