import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Status for each path in even and in odd versions. */
export const EXPECTED_STATUSES: Readonly<Record<string, readonly [even: number, odd: number]>> = {
  '/pub/soak': [200, 200],
  '/versions/open': [401, 200],
  '/versions/there': [404, 200],
  '/versions/7/parameter': [200, 401],
  '/versions/below/a/b': [401, 404],
}

/**
 * Returns a version of the policy. Even and odd versions decide the same paths differently. `more` is the number of
 * unused routes.
 */
export function versionedPolicy(version: number, more = 20): string {
  const isOdd = version % 2 === 1
  const routes = [
    ['open', '/versions/open', isOdd ? 'allow' : 'deny'],
    ...(isOdd ? [['there', '/versions/there', 'allow']] : []),
    ['parameter', '/versions/{number}/parameter', isOdd ? 'challenge' : 'allow'],
    ...(isOdd ? [] : [['below', '/versions/below/**', 'challenge']]),
    ...Array.from({ length: more }, (_, at) => [`more-${at}`, `/more/${at}/{id}`, 'challenge']),
  ]
  return `apiVersion: scopegate/v1
kind: Policy
name: versions
owner: version-${version}
upstream: api
defaults: { timeout: 5s }
routes:
${routes
  .map(
    ([name, path, anonymous]) => `  - name: ${name}
    match: { methods: [GET], path: "${path}" }
    anonymous: ${anonymous}
    scopes: { all: [courses:read] }
`,
  )
  .join('')}`
}

/** Returns the path of the file. */
export function writeVersion(folder: string, version: number): string {
  const policies = join(folder, 'policies')
  mkdirSync(policies, { recursive: true })
  const file = join(policies, 'versions.policy.yaml')
  writeFileSync(file, versionedPolicy(version))
  return file
}
