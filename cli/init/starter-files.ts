/** What `scopegate init` writes, besides the configuration that it copies: paths and texts. */
export const STARTER_FILES: Readonly<Record<string, string>> = {
  'config/scopes.yaml': `# The scope catalogue: every scope there is, once. Policies may name nothing else, and people see these words when they
# allow an application something. The order is the order in which they see them.
scopes:
  - name: openid
    description: Sign you in
    group: Identity
    sensitivity: identity
  - name: courses:read
    description: See courses and their lessons
    group: Courses
    sensitivity: read
  - name: courses:write
    description: Create, change and delete courses
    group: Courses
    sensitivity: write
`,
  'policies/courses.policy.yaml': `# Which requests reach the upstream, and what their tokens need. One file for each team or service.
apiVersion: scopegate/v1
kind: Policy
name: courses
owner: my-team
upstream: learning-platform # an entry of config/upstreams.yaml

defaults:
  anonymous: challenge # without a token: 401, and the way to one
  timeout: 5s

routes:
  - name: list-courses
    match: { methods: [GET], path: /api/courses }
    anonymous: allow
    scopes: { all: [courses:read] }

  - name: read-course
    match: { methods: [GET], path: "/api/courses/{id}" }
    scopes: { all: [courses:read] }

  - name: change-course
    match: { methods: [POST, PUT, PATCH, DELETE], path: "/api/courses/{id}" }
    scopes: { all: [courses:write] }

tests:
  - it: lists courses without a token
    request: { method: GET, path: /api/courses }
    expect: { decision: allow, as: anonymous, route: list-courses }
  - it: shows the way to a token
    request: { method: GET, path: /api/courses/42 }
    expect: { decision: challenge, status: 401 }
  - it: reads a course with courses:read
    request: { method: GET, path: /api/courses/42 }
    token: { scope: courses:read }
    expect: { decision: allow, route: read-course }
  - it: refuses a change with courses:read alone
    request: { method: PATCH, path: /api/courses/42 }
    token: { scope: courses:read }
    expect: { decision: deny, status: 403, error: insufficient_scope, missing: [courses:write] }
`,
  'README.md': `# A gateway of our own

\`config/\` is for operators and differs from environment to environment; \`policies/\` is for teams and is the same everywhere.

\`\`\`sh
npx scopegate check                # is everything valid?
npx scopegate test --coverage      # do the policies do what was meant?
npx scopegate explain PATCH /api/courses/42 --scope courses:read
npx scopegate fmt                  # one layout for all policies
npx scopegate dev                  # gateway, authorization server and a demo API on this machine; sign in as alice / alice
\`\`\`

Next: name your own API in \`config/upstreams.yaml\`, your scopes in \`config/scopes.yaml\`, and write
\`policies/<team>.policy.yaml\`, with tests beside the routes.
`,
  '.gitignore': `# Accounts, grants and secrets of \`scopegate dev\`.
.scopegate/
`,
}

/** Configuration that is copied as this package has it, with what each key means. */
export const COPIED_FILES: readonly string[] = [
  'config/gateway.yaml',
  'config/authorization-server.yaml',
  'config/presets.yaml',
  'config/upstreams.yaml',
]
