/** How hard pressed a process is. */
export type Pressure = {
  /** Of the JavaScript heap's limit, what is in use. */
  readonly heap: number
  /** Of the container's memory limit; 0 where there is none. */
  readonly memory: number
  /** How long a turn of the event loop comes late, on average. Milliseconds. */
  readonly loop: number
}

export type OverloadReason = keyof Pressure

/** From where on something is done about one kind of pressure. */
export type OverloadLimit = {
  /** Connections end with their answers, so that clients go elsewhere. */
  readonly close: number
  /** Requests are refused. */
  readonly refuse: number
}

export type OverloadLimits = Readonly<Record<OverloadReason, OverloadLimit>>

export type OverloadLevel = {
  readonly level: 'normal' | 'closing' | 'refusing'
  /** What is highest above its limit; undefined when all is well. */
  readonly reason: OverloadReason | undefined
  /** Readings in a row that would allow the level below. */
  readonly calmReadings: number
}

export const NORMAL: OverloadLevel = { level: 'normal', reason: undefined, calmReadings: 0 }

const LEVELS = ['normal', 'closing', 'refusing'] as const
const REASONS: readonly OverloadReason[] = ['heap', 'memory', 'loop']
/** Two seconds of readings: pressure comes back when requests do. */
const CALM_READINGS = 20
/** A level is left only so far below where it began. */
const LEAVE_AT = 0.9

/**
 * What follows from a reading: up at once and to wherever it has to be, down one level after two calm seconds.
 */
export function nextOverloadLevel(
  now: OverloadLevel,
  pressure: Pressure,
  limits: OverloadLimits,
): OverloadLevel {
  const [reached, reason] = worst(pressure, limits, 1)
  const rank = LEVELS.indexOf(now.level)
  if (reached > rank || (reached === rank && reached > 0))
    return { level: levelAt(reached), reason, calmReadings: 0 }
  if (rank === 0) return NORMAL
  const [kept, because] = worst(pressure, limits, LEAVE_AT)
  if (kept >= rank) return { ...now, reason: because, calmReadings: 0 }
  const calmReadings = now.calmReadings + 1
  if (calmReadings < CALM_READINGS) return { ...now, calmReadings }
  if (rank === 1) return NORMAL
  return { level: 'closing', reason: now.reason, calmReadings: 0 }
}

/** The highest level that a reading stands for, and what stands for it most. */
function worst(
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
