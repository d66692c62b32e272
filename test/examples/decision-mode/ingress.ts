import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import t, { type Test } from 'tap'
import { findFreePort } from '../../../platform/net/find-free-port.ts'
import { type DecisionProtocol, startDecisionEndpoint } from '../../fixtures/a-decision-endpoint.ts'
import { BASE_URL } from '../../fixtures/a-gateway.ts'
import { aProof, aProofKey } from '../../fixtures/dpop-proof.ts'
import {
  type Case,
  everyHeader,
  everySpelling,
  isProtected,
  isReadAsProtected,
  protectedPolicy,
  sendAll,
  TOKEN,
} from '../../fixtures/protected-paths.ts'
import { send } from '../../fixtures/send.ts'
import { sendBytes } from '../../fixtures/send-bytes.ts'
import { startStrictUpstream } from '../../fixtures/strict-upstream.ts'
import { until } from '../../fixtures/until.ts'

/**
 * A product that asks the decision endpoint. Its example is the folder of `examples/decision-mode` with the first word of
 * `name`.
 */
export type Ingress = {
  readonly name: string
  readonly protocol: DecisionProtocol
  /** The example removes each header of the client with a reserved prefix. Otherwise, it has a list of names. */
  readonly hasHeaderPatterns: boolean
  /**
   * Changes a file of the example only where the test needs other folders.
   * @param dir an empty folder for the files of the process.
   */
  readonly adapt?: (text: string, dir: string) => string
  /** Returns the command that starts the product in the foreground, in the folder with the files of the example. */
  readonly command: (dir: string) => readonly [command: string, ...args: string[]]
}

type Addresses = { readonly decisions: string; readonly gateway: string; readonly upstream: string }

const EXAMPLES = resolve(import.meta.dirname, '../../../examples/decision-mode')

/** Starts the example of the product, and tests the flows and all spellings of the path tests through the product. */
export function testIngress(ingress: Ingress): void {
  t.test(`${ingress.name} forwards allowed requests only, and returns each denial unchanged`, async (t) => {
    const { decisions, gateway, upstream, issuer } = await startDecisionEndpoint(t, ingress.protocol)
    const url = await startIngress(t, ingress, { decisions, gateway: gateway.url, upstream: upstream.url })

    const forged = {
      ...{ 'x-auth-subject': 'root', 'x-auth-assertion': 'root', 'x-forwarded-for': '192.0.2.7' },
      ...{ 'x-original-method': 'DELETE', 'x-original-uri': '/pub/x', 'x-http-method-override': 'DELETE' },
      ...{ 'x-forwarded-method': 'DELETE', 'x-forwarded-uri': '/pub/x' },
      ...(ingress.hasHeaderPatterns ? { 'x-auth-claim-tenant': 'root' } : {}),
    }
    const allowed = await send(`${url}/api/courses?a=1`, { token: 'good', headers: forged })
    t.equal(allowed.status, 200)
    t.equal(upstream.requests.at(-1)?.target, '/api/courses?a=1')
    t.same(upstream.seen('x-auth-subject'), ['user-1'])
    t.same(upstream.seen('x-auth-scope'), ['courses:read'])
    t.same(upstream.seen('x-auth-assertion'), [])
    for (const name of [
      'authorization',
      'x-auth-claim-tenant',
      'x-original-method',
      'x-original-uri',
      'x-http-method-override',
    ])
      t.same(upstream.seen(name), [], name)
    t.notMatch(upstream.seen('x-forwarded-for').join(), '192.0.2.7')
    t.equal((await send(`${url}/api/asserted`, { token: 'good' })).status, 200)
    t.match(upstream.seen('x-auth-assertion'), [/^ey/])

    const anonymous = await send(`${url}/pub/x`, { method: 'POST', body: 'text', headers: forged })
    t.equal(anonymous.status, 200)
    t.equal(upstream.requests.at(-1)?.body, 'text')
    t.same(upstream.seen('x-auth-subject'), [], 'an anonymous request has no identity header')

    const chunked = await sendBytes(
      url,
      'POST /pub/x HTTP/1.1\r\nhost: api.test\r\nexpect: 100-continue\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n4\r\ntext\r\n0\r\n\r\n',
    )
    t.same(chunked.statuses, [200])
    t.equal(upstream.requests.at(-1)?.body, 'text')

    t.equal((await send(`${url}/api/limited`, { headers: { 'x-forwarded-for': '192.0.2.1' } })).status, 200)
    const limited = await send(`${url}/api/limited`, { headers: { 'x-forwarded-for': '192.0.2.2' } })
    t.equal(limited.status, 429, 'a client cannot choose its address')
    t.ok(limited.headers.get('retry-after'))

    const key = aProofKey()
    issuer.store('bound', { scope: 'courses:read', cnf: { jkt: key.thumbprint } })
    const proof = aProof({ key, url: `${BASE_URL}/api/courses`, token: 'bound' })
    const bound = { headers: { authorization: 'DPoP bound', dpop: proof } }
    t.equal((await send(`${url}/api/courses`, bound)).status, 200)
    t.same(upstream.seen('dpop'), [])
    t.equal((await send(`${url}/api/courses`, bound)).status, 401, 'a repeated proof')

    const forwarded = upstream.requests.length
    for (const [method, path, token] of [
      ['GET', '/api/challenged', undefined],
      ['GET', '/api/courses', 'narrow'],
      ['GET', '/api/courses', 'unknown'],
      ['GET', '/api/recent', 'old'],
      ['GET', '/nothing', undefined],
      ['PUT', '/api/courses', undefined],
    ] as const) {
      const direct = await send(`${gateway.url}${path}`, { method, token })
      const denied = await send(`${url}${path}`, { method, token })
      t.equal(denied.status, direct.status, path)
      for (const name of ['www-authenticate', 'allow', 'content-type'])
        t.equal(denied.headers.get(name), direct.headers.get(name), `${path} ${name}`)
      t.same({ ...denied.json, request_id: '' }, { ...direct.json, request_id: '' }, path)
    }
    const metadata = await send(`${url}/.well-known/oauth-protected-resource`)
    t.equal(metadata.status, 200)
    t.equal(metadata.json['resource'], BASE_URL)
    t.equal(upstream.requests.length, forwarded)
  })

  for (const [open, isSecret] of [
    ['/pub/**', isProtected],
    ['/**', isReadAsProtected],
  ] as const)
    t.test(`${ingress.name} gives no access to a protected path while ${open} is open`, async (t) => {
      const upstream = await startStrictUpstream()
      t.teardown(() => upstream.close())
      const { decisions, gateway, issuer } = await startDecisionEndpoint(t, ingress.protocol, {
        policy: protectedPolicy(open),
        upstreamUrl: upstream.url,
      })
      issuer.store(TOKEN, { scope: 'orders:read' })
      const url = await startIngress(t, ingress, { decisions, gateway: gateway.url, upstream: upstream.url })
      const ready = upstream.requests.length
      const cases =
        open === '/**'
          ? everySpelling().filter(({ hasToken }) => !hasToken)
          : [...everySpelling(), ...everyHeader()]
      await sendAll(url, cases)

      const leaked: string[] = []
      let withToken = 0
      for (const { method, target, headers } of upstream.requests.slice(ready)) {
        const one = cases[Number(headers.find(([name]) => name === 'x-case')?.[1])] as Case
        if (one.hasToken) withToken += 1
        else if (isSecret(target.replace(/\?.*$/, ''), method))
          leaked.push(`${one.method} ${one.target} as ${target}`)
        if (!one.hasToken && headers.some(([name]) => /^x[-_.]auth[-_.]/.test(name)))
          leaked.push(`an identity with ${one.headers}`)
      }
      t.same(leaked, [])
      t.ok(upstream.requests.length > ready, 'open paths reached the upstream')
      if (open !== '/**') t.ok(withToken > 100, 'with a token, many spellings reached the upstream')
      t.comment(
        `${cases.length} requests, ${upstream.requests.length - ready} forwarded, ${leaked.length} leaked`,
      )
    })
}

async function startIngress(t: Test, ingress: Ingress, to: Addresses): Promise<string> {
  const port = await findFreePort('127.0.0.1')
  const url = `http://127.0.0.1:${port}`
  const folder = join(EXAMPLES, ingress.name.toLowerCase().replace(/ .*/, ''))
  // A product that is started by root changes its user, which cannot read a repository below the home folder of root.
  const dir = mkdtempSync(join(tmpdir(), 'scopegate-ingress-'))
  chmodSync(dir, 0o755)
  t.teardown(() => rmSync(dir, { recursive: true, force: true }))
  const files = join(dir, 'example')
  mkdirSync(files)
  for (const name of readdirSync(folder)) {
    const text = readFileSync(join(folder, name), 'utf8')
      .replaceAll('127.0.0.1:8080', `127.0.0.1:${port}`)
      .replaceAll(':8080', `:${port}`)
      .replaceAll('127.0.0.1:4010', new URL(to.decisions).host)
      .replaceAll('127.0.0.1:4000', new URL(to.gateway).host)
      .replaceAll('127.0.0.1:5000', new URL(to.upstream).host)
      .replaceAll('port_value: 8080', `port_value: ${port}`)
      .replaceAll('port_value: 4010', `port_value: ${new URL(to.decisions).port}`)
      .replaceAll('port_value: 4000', `port_value: ${new URL(to.gateway).port}`)
      .replaceAll('port_value: 5000', `port_value: ${new URL(to.upstream).port}`)
    writeFileSync(join(files, name), ingress.adapt?.(text, dir) ?? text)
  }
  const [command, ...args] = ingress.command(dir)
  const child = spawn(command, args, {
    cwd: files,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env['PATH'], HOME: dir },
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += String(chunk)))
  t.teardown(async () => {
    child.kill()
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  })
  await until(`${ingress.name} listens`, async () => {
    if (child.exitCode !== null) throw new Error(`${ingress.name} ended: ${output}`)
    return (await send(`${url}/pub/ready`).catch(() => undefined))?.status === 200
  })
  return url
}
