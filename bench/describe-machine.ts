import { cpus, release, type } from 'node:os'

/** The machine of a measurement. Excludes data that identifies the machine. */
export type Machine = {
  readonly cpu: string
  readonly cores: number
  readonly system: string
  readonly node: string
}

export function describeMachine(): Machine {
  const processors = cpus()
  return {
    cpu: processors[0]?.model.trim() ?? 'unknown',
    cores: processors.length,
    system: `${type()} ${release()}`,
    node: process.versions.node,
  }
}
