import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const ROUTES_A_FILE = 10
const METHODS = ['GET', 'POST', 'PUT, PATCH', 'DELETE']

/** Writes policies into a separate folder. Each policy has ten routes, and each route has a test. */
export function writeManyPolicies(folder: string, routes: number): void {
  mkdirSync(folder, { recursive: true })
  for (let file = 0; file * ROUTES_A_FILE < routes; file++)
    writeFileSync(join(folder, `family-${file}.policy.yaml`), policy(file))
}

function policy(file: number): string {
  const all = Array.from({ length: ROUTES_A_FILE }, (_, index) => ({
    index,
    methods: METHODS[index % METHODS.length] ?? 'GET',
    path: `/api/family-${file}/kind-${index}`,
  }))
  const routes = all.map(
    ({ index, methods, path }) => `  - name: route-${index}
    match: { methods: [${methods}], path: "${path}/{id}" }
    scopes: { all: [courses:read], any: [orders:read, courses:write] }
`,
  )
  const tests = all.map(
    ({ index, methods, path }) => `  - it: reaches route ${index} with its scopes
    request: { method: ${methods.split(',')[0]}, path: ${path}/7 }
    token: { scope: "courses:read orders:read" }
    expect: { decision: allow, route: route-${index} }
`,
  )
  return `apiVersion: scopegate/v1
kind: Policy
name: family-${file}
owner: team-${file % 7}
upstream: learning-platform
defaults:
  anonymous: challenge
  rateLimit: { requests: 600, per: 1m, by: client }
routes:
${routes.join('')}tests:
${tests.join('')}`
}
