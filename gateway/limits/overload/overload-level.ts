export type Pressure = {
  /** Used part of the limit of the old generation of the heap. */
  readonly heap: number
  /** Used part of the container's memory limit; 0 without a limit. */
  readonly memory: number
  /** Average delay of an event loop iteration. Milliseconds. */
  readonly loop: number
}

export type OverloadReason = keyof Pressure

export type OverloadLimit = {
  /**
   * Threshold at which the gateway closes each connection after a response. Clients can then connect to another
   * gateway.
   */
  readonly close: number
  readonly refuse: number
}

export type OverloadLimits = Readonly<Record<OverloadReason, OverloadLimit>>

export type OverloadLevel = {
  readonly level: 'normal' | 'closing' | 'refusing'
  /** The kind of load that exceeds its threshold most; `undefined` at level `normal`. */
  readonly reason: OverloadReason | undefined
  /** Number of consecutive readings that would allow the next lower level. */
  readonly calmReadings: number
}

export const NORMAL: OverloadLevel = { level: 'normal', reason: undefined, calmReadings: 0 }

const LEVELS = ['normal', 'closing', 'refusing'] as const
const REASONS: readonly OverloadReason[] = ['heap', 'memory', 'loop']
/**
 * Number of calm readings (2 s) before the level falls. The delay is necessary, because the load returns when the
 * gateway accepts requests again.
 */
const CALM_READINGS = 20
/** A level ends only when the load falls below this part of the threshold (hysteresis). */
const LEAVE_AT = 0.9

/**
 * Returns the level after a reading. The level rises directly to the measured level. The level falls by one step after
 * two calm seconds.
 */
export function nextOverloadLevel(
  now: OverloadLevel,
  pressure: Pressure,
  limits: OverloadLimits,
): OverloadLevel {
  const [reached, reason] = highestLevel(pressure, limits, 1)
  const rank = LEVELS.indexOf(now.level)
  if (reached > rank || (reached === rank && reached > 0))
    return { level: levelAt(reached), reason, calmReadings: 0 }
  if (rank === 0) return NORMAL
  const [held, heldBy] = highestLevel(pressure, limits, LEAVE_AT)
  if (held >= rank) return { ...now, reason: heldBy, calmReadings: 0 }
  const calmReadings = now.calmReadings + 1
  if (calmReadings < CALM_READINGS) return { ...now, calmReadings }
  if (rank === 1) return NORMAL
  return { level: 'closing', reason: now.reason, calmReadings: 0 }
}

/** Returns the highest level that a reading reaches, and the kind of load that exceeds its threshold most. */
function highestLevel(
  pressure: Pressure,
  limits: OverloadLimits,
  factor: number,
): readonly [number, OverloadReason | undefined] {
  let highest = 0
  let reason: OverloadReason | undefined
  let most = 0
  for (const one of REASONS) {
    const { close, refuse } = limits[one]
    const level = pressure[one] >= refuse * factor ? 2 : pressure[one] >= close * factor ? 1 : 0
    const excess = pressure[one] / refuse
    if (level === 0 || level < highest || (level === highest && excess <= most)) continue
    highest = level
    reason = one
    most = excess
  }
  return [highest, reason]
}

function levelAt(rank: number): OverloadLevel['level'] {
  return LEVELS[rank] ?? 'normal'
}
