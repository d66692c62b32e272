import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { Test } from 'tap'
import type { KubeObject } from './kube-object.ts'
import { CHART, HELM_ENVIRONMENT, parseObjects } from './render-chart.ts'

/** Values of one rendering. Optionally, a changed template. */
export type Rendering = {
  readonly release: string
  readonly valueFiles?: readonly string[]
  /** The option `--set` of helm has the same format. */
  readonly set?: readonly string[]
  /** Path of the changed template in the chart, and its new text. */
  readonly template?: string
  readonly text?: string
  /** Paths of the rendered templates in the chart. Undefined: all templates. */
  readonly only?: readonly string[]
  /** Kubernetes version of the cluster. Undefined: the default of helm. */
  readonly kubeVersion?: string | undefined
  /** If true, the output is only the text of NOTES.txt. Otherwise, the output contains all other templates. */
  readonly notes?: boolean
  /** If true, `lookup` reads from the cluster. */
  readonly cluster?: boolean
  /** If true, the schemas of the chart validate the values, as the commands of helm do. */
  readonly validate?: boolean
}

/** Output of helm, or its error message. */
export type Rendered = { readonly output: string; readonly failed?: string }

/**
 * Starts a process that renders the chart, and stops the process at the end of `t`. The process uses the code of helm
 * (render-charts.go) and handles one request after the other.
 */
export function startChartRenderer(
  t: Pick<Test, 'teardown'>,
  kubeconfig: string,
): (rendering: Rendering) => Promise<Rendered> {
  const program = process.env['SCOPEGATE_CHART_RENDERER']
  if (program === undefined)
    throw new Error('SCOPEGATE_CHART_RENDERER is not set: run the checks with `node scripts/check-chart.js`')
  const child = spawn(program, [CHART], {
    env: { ...HELM_ENVIRONMENT, KUBECONFIG: kubeconfig, GOMEMLIMIT: '256MiB', GOMAXPROCS: '1' },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  t.teardown(() => child.stdin.end())
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  return async (rendering) => {
    child.stdin.write(`${JSON.stringify(rendering)}\n`)
    const { value, done } = await lines.next()
    if (done === true) throw new Error('the renderer ended')
    return JSON.parse(value)
  }
}

/**
 * Starts a renderer that returns the objects of validated values.
 * @returns a function that rejects with the message of helm.
 */
export function startObjectRenderer(
  t: Pick<Test, 'teardown'>,
): (rendering: Omit<Rendering, 'validate'>) => Promise<readonly KubeObject[]> {
  const render = startChartRenderer(t, '/nonexistent')
  return async (rendering) => {
    const { output, failed } = await render({ ...rendering, validate: true })
    if (failed !== undefined) throw new Error(failed)
    return parseObjects(output)
  }
}
