import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from './render-chart.ts'

/** The image of one target of the Dockerfile. */
export type Image = {
  /** The folder of a built image. Default: the shared libraries and the Node.js of this machine. */
  readonly root?: string
  readonly entrypoint: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly workdir: string
  readonly user: { readonly uid: number; readonly gid: number }
  /**
   * Copied paths of this checkout, and their paths in the image. Files of a build stage have the same path in the
   * checkout.
   */
  readonly copies: readonly { readonly from: string; readonly to: string }[]
}

/**
 * Reads one target of the Dockerfile, including its base stages.
 * @throws {Error} for a target without a user ID, an entry point or a working directory.
 */
export function readImage(target: string): Image {
  const text = readFileSync(join(ROOT, 'Dockerfile'), 'utf8')
    .replace(/^#.*\n/gm, '')
    .replace(/\\\n/g, ' ')
  const stages = new Map<string, { base: string; lines: readonly string[] }>()
  for (const stage of text.split(/^(?=FROM )/m)) {
    const [, base = '', name = ''] = /^FROM (\S+) AS (\S+)/.exec(stage) ?? []
    if (name !== '') stages.set(name, { base, lines: stage.split('\n').slice(1) })
  }
  const lines: string[] = []
  for (let stage = stages.get(target); stage !== undefined; stage = stages.get(stage.base)) {
    lines.unshift(...stage.lines)
  }
  const argumentsOf = (word: string): readonly string[] =>
    lines.flatMap((line) => (line.startsWith(`${word} `) ? [line.slice(word.length + 1).trim()] : []))
  const [, uid, gid] = /^(\d+):(\d+)$/.exec(argumentsOf('USER').at(-1) ?? '') ?? []
  const entrypoint = argumentsOf('ENTRYPOINT').at(-1)
  const workdir = argumentsOf('WORKDIR').at(-1)
  if (uid === undefined || gid === undefined || entrypoint === undefined || workdir === undefined)
    throw new Error(`Dockerfile target ${target} lacks WORKDIR, ENTRYPOINT or a USER in numbers`)
  return {
    entrypoint: JSON.parse(entrypoint),
    env: Object.fromEntries(argumentsOf('ENV').map((one) => one.split('=') as [string, string])),
    workdir,
    user: { uid: Number(uid), gid: Number(gid) },
    copies: argumentsOf('COPY').flatMap((one) => readCopy(one, workdir)),
  }
}

function readCopy(line: string, workdir: string): Image['copies'] {
  const words = line.split(/\s+/)
  // The checks use the system files of this machine.
  if (words[0] === '--from=system') return []
  const built = words[0]?.startsWith('--from=') === true
  const sources = words.slice(built ? 1 : 0, -1)
  const destination = words.at(-1) ?? ''
  return sources.map((source) => {
    const from = built ? source.replace(`${workdir}/`, '') : source
    return {
      from: join(ROOT, from),
      to: join(workdir, destination.endsWith('/') ? join(destination, from) : destination),
    }
  })
}
