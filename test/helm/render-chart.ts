import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { parseAllDocuments } from 'yaml'
import type { KubeObject } from './kube-object.ts'

export const ROOT = join(import.meta.dirname, '..', '..')
export const CHART = join(ROOT, 'helm')

/** Without the helm configuration of the machine, and without a cluster. */
export const HELM_ENVIRONMENT = {
  PATH: process.env['PATH'],
  HOME: '/nonexistent',
  HELM_CACHE_HOME: '/nonexistent',
  KUBECONFIG: '/nonexistent',
  // no garbage collection, because helm ends before its memory becomes large
  GOGC: 'off',
}

/** Runs the real helm, without the configuration of the machine and without a cluster. */
export function helm(...args: readonly string[]): { status: number | null; stdout: string; stderr: string } {
  const command = process.env['SCOPEGATE_HELM']
  if (command === undefined)
    throw new Error('SCOPEGATE_HELM names no helm: run the checks with `node scripts/check-chart.js`')
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    encoding: 'utf8',
    env: HELM_ENVIRONMENT,
    maxBuffer: 64 * 1024 * 1024,
  })
  if (error !== undefined) throw error
  return { status, stdout, stderr }
}

/**
 * Renders the chart as release `gw` in namespace `shop`.
 * @throws {Error} with the message of helm.
 */
export function render(...args: readonly string[]): readonly KubeObject[] {
  return renderRelease('gw', ...args)
}

/**
 * Uses the namespace `shop`.
 * @throws {Error} with the message of helm.
 */
export function renderRelease(release: string, ...args: readonly string[]): readonly KubeObject[] {
  const { status, stdout, stderr } = helm('template', release, CHART, '--namespace', 'shop', ...args)
  if (status !== 0) throw new Error(stderr)
  return parseObjects(stdout)
}

/** Parses a stream of YAML documents. Rejects duplicate keys and all other errors. */
export function parseObjects(text: string): readonly KubeObject[] {
  return parseAllDocuments(text, { version: '1.1', strict: true, uniqueKeys: true }).flatMap((document) => {
    const [fault] = document.errors
    if (fault !== undefined) throw fault
    return document.contents === null ? [] : [document.toJS() as KubeObject]
  })
}

/** @throws {Error} if the chart did not render the object. */
export function find(objects: readonly KubeObject[], kind: string, name: string): KubeObject {
  const found = objects.find((object) => object.kind === kind && object.metadata.name === name)
  if (found === undefined) {
    const there = objects.map((object) => `${object.kind}/${object.metadata.name}`).join(', ')
    throw new Error(`the chart rendered no ${kind}/${name}; it rendered ${there}`)
  }
  return found
}
